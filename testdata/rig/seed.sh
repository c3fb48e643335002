# The seed of M_Keys at first use, without a keys_file, on a fabric in use: the master makes it, and the standby gets it by the mirror. The master is killed and
# starts again with the seed in its state directory; then it is killed, and the standby goes on with the one that it has. M_Keys stay as they are, the next ones
# follow from the same seed, no link leaves ACTIVE, and no packet is lost. Start with failover.net beside this script.
. /etc/rig-lib.sh
start_fabric 6
master=0 standby=1
blue_partition
# settings LINE...: what the configuration has beside the keys, security tenants and the partitions.
settings() {
	printf '%s\n' 'security tenants' 'm_key 0x5eed5eed5eed5eed' 'sm_key 0xa11ce0a11ce0a11c' 'sa_key 0xb0bb0bb0bb0bb0bb' \
		'partition_config_file /tmp/partitions.conf' 'master_sm_priority 14' "$@" >/tmp/ibsm.conf
}
run() {
	mkdir -p /tmp/dir$1
	OSM_CACHE_DIR=/tmp/dir$1 ibsm --ctl_socket /tmp/ctl$1 -F /tmp/ibsm.conf -g $(port_guid $1) -p $2 -f /tmp/sm$1.log >>/tmp/sm.out 2>&1 &
	echo $! >/tmp/pid$1
}
# end N SIGNAL: the manager at adapter N ends.
end() {
	kill -$2 $(cat /tmp/pid$1)
	within 20 sh -c "[ ! -d /proc/$(cat /tmp/pid$1) ]" || fail "the manager at adapter $1 does not end"
}
up() { active 0 1 2 3 4 5 && paths 0 1 2 4 5; }
stand() { in_state $master MASTER && in_state $standby STANDBY && up; }
since() { echo $(($(wc -l <$1) + 1)); }
mirrors() { tail -n +$2 /tmp/sm$1.log | grep -q 'mirroring the client registrations of the master'; }
seed() { echo /var/lib/ibsm/$(port_guid $1)/keys; }
one_seed() { cmp $(seed $master) $(seed $standby); }
held() { fabric keys | awk '{ print $1, $3 }'; }
as_before() { held | cmp - /tmp/held; }
again() { tail -n +$2 /tmp/sm$1.log | grep -q 'Entering MASTER state'; }
# phase NAME: what has been done, and what ping had come to then.
phase() { echo "$* at $(now) ms: icmp_seq $(sed -n 's/.* bytes from .*icmp_seq=\([0-9]*\) .*/\1/p' /tmp/ping.out | tail -n 1)"; }
rule() { ctl $1 security | grep '^holds  *m_key_per_port .* and the seed in '$(seed $1); }

# Until there is a standby all ports have the m_key.
settings 'm_key_per_port FALSE'
run $master 8
within 60 in_state $master MASTER && within 60 up || fail "the fabric did not come up"
run $standby 3
within 60 stand && within 20 mirrors $standby 1 || fail "the other does not stand by, or does not mirror"
within 60 all 'mkey 5eed5eed5eed5eed level 2 lease 60' || fail "not all ports have the m_key: $(fabric keys)"
blue_hosts
[ ! -e $(seed $master) ] && [ ! -e $(seed $standby) ] || fail "there is a seed already"
downed >/tmp/downed.first
/opt/ip -n ns2 -o monitor link >/tmp/links &
ping_on 10.1.0.5

# First use. A line that goes from the file changes nothing before the next start.
settings 'm_key_per_port TRUE'
ctl $master config reload || fail "the master does not reload"
within 60 all 'level 2 lease 60' && within 60 different || fail "not all ports have an M_Key of their own: $(fabric keys)"
within 20 one_seed || fail "the standby has not kept the seed of the master"
for n in $master $standby; do
	[ "$(stat -c %a $(seed $n))" = 600 ] || fail "the seed at adapter $n: $(ls -l $(seed $n))"
done
within 20 rule $master || fail "ibsmctl security: $(ctl $master security)"
stand || fail "the standby does not stand by any more"
held >/tmp/held
phase "M_Keys of the seed"

# A restart, without a standby.
end $standby TERM
phase "no standby"
from=$(since /tmp/sm$master.log)
end $master KILL
phase "no master"
run $master 8
within 90 again $master $from && within 60 rule $master || fail "the master does not come back: $(fabric keys)"
as_before && all 'level 2 lease 60' && up || fail "after the restart: $(held | diff /tmp/held -)"
phase "the same M_Keys after a restart"

# The end of the master.
cp /tmp/dir$master/guid2mkey /tmp/dir$master/neighbors /tmp/dir$standby/
from=$(since /tmp/sm$standby.log)
run $standby 3
within 60 stand && within 20 mirrors $standby $from || fail "the standby does not stand by again"
from=$(since /tmp/sm$standby.log)
phase "standby again"
end $master KILL
phase "master killed"
within 90 again $standby $from && within 60 rule $standby || fail "the standby does not take over: $(ctl $standby security)"
sleep 5
as_before && all 'level 2 lease 60' && up || fail "after the takeover: $(held | diff /tmp/held -)"
phase "the same M_Keys after a takeover"

# The next M_Keys, by the standby's seed, and the old master as standby.
fabric keys | awk '{ print $3 }' >/tmp/former
ctl $standby security rotate || fail "no rotation"
within 60 none_of_before && within 60 different && all 'level 2 lease 60' || fail "not all ports have the next M_Keys: $(fabric keys)"
phase "the next M_Keys"
cp /tmp/dir$standby/guid2mkey /tmp/dir$standby/neighbors /tmp/dir$master/
run $master 8
within 60 in_state $master STANDBY && in_state $standby MASTER && up || fail "the old master does not stand by"
one_seed || fail "the seed is another one"

ping_off
# missing: which packets have no answer, and when the one before was answered, by the clock of the logs.
missing() {
	sed -n 's/^.\([0-9]*\).* bytes from .*icmp_seq=\([0-9]*\) .*/\2 \1/p' /tmp/ping.out |
		awk '{ at[$1 + 0] = $2; if ($1 + 0 > last) last = $1 + 0 } END { for (n = 1; n < last; n++) { if (n in at) t = at[n]; else print "no answer to icmp_seq " n " after " strftime("%T", t) } }'
}
[ ${lost%% *} = 0 ] || fail "lost $lost; a machine that is stopped for seconds loses some without a manager, too: $(missing | head -n 30)"
downed | cmp - /tmp/downed.first || fail "links were down"
! grep -q 'state DOWN\|NO-CARRIER' /tmp/links || fail "a link left ACTIVE: $(cat /tmp/links)"
secret=$(sed -n 's/^secret //p' $(seed $master))
[ -n "$secret" ] && ! grep -qF $secret /tmp/sm*.log /tmp/sm.out || fail "the seed is in a log"
echo "ibsm: the same M_Keys after a restart and a takeover, then those of number 2; lost $lost"
