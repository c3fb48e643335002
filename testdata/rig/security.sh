# docs/security.md as an operator follows it, on a fabric in use: from security open to tenants with an M_Key for each port, to the next
# M_Keys, to an OpenSM and back by the files that it and ibsm keep, and back to open. No link leaves ACTIVE, and but for OpenSM's routes no
# LID, route or P_Key is another, and no packet is lost. Start with failover.net beside this script.
. /etc/rig-lib.sh
start_fabric 6
master=0 standby=1
blue_partition
# settings N LINE...: what the configuration of the manager at adapter N has beside the partitions.
settings() {
	local n=$1
	shift
	printf '%s\n' 'partition_config_file /tmp/partitions.conf' 'master_sm_priority 14' "$@" >/tmp/sm$n.conf
}
run() {
	mkdir -p /tmp/dir$1
	OSM_CACHE_DIR=/tmp/dir$1 ibsm --ctl_socket /tmp/ctl$1 -F /tmp/sm$1.conf -g $(port_guid $1) -p $2 -f /tmp/sm$1.log >>/tmp/sm.out 2>&1 &
	echo $! >/tmp/pid$1
}
end() {
	kill $(cat /tmp/pid$1)
	within 20 sh -c "[ ! -d /proc/$(cat /tmp/pid$1) ]" || fail "the manager at adapter $1 does not end"
}
up() { active 0 1 2 3 4 5 && paths 0 1 2 4 5; }
stand() { in_state $master MASTER && in_state $standby STANDBY && up; }
keys() { [ $1 = $master ] && echo /tmp/a/keys || echo /tmp/b/keys; }
key() { ibsmctl security show /tmp/a/keys | sed -n 's/m_key 0x//p'; }
mirrors() { tail -n +$since /tmp/sm$standby.log | grep -q 'mirroring the client registrations of the master'; }

# witness FILE: what fabcheck reads beside M_Keys.
witness() {
	snapshot /tmp/snapshot
	grep -v '^sm ' /tmp/snapshot | sed 's/ M_Key[A-Za-z]*=[^ ]*//g; s/ MasterSMLID=[^ ]*//; s/ CapabilityMask=[^ ]*//; s/ LifeTimeValue=[^ ]*//' >$1
}
# still WHAT: nothing has changed but M_Keys, and nothing was lost.
still() {
	witness /tmp/now
	diff /tmp/first /tmp/now >/tmp/diff || fail "$1: $(cat /tmp/diff)"
	up || fail "$1: not whole"
	echo "$1 at $(now) ms: nothing has changed; $(fabric keys | sed -n 2p)"
}

for n in $master $standby; do settings $n; done
run $master 8
within 60 in_state $master MASTER && within 60 up || fail "the fabric did not come up"
run $standby 3
within 60 stand || fail "the other does not stand by"
blue_hosts
witness /tmp/first
downed >/tmp/downed.first
/opt/ip -n ns2 -o monitor link >/tmp/links &
ping_on 10.1.0.5

# Turning it on in an evening.
since=$(wc -l </tmp/sm$standby.log)
mkdir /tmp/a /tmp/b
echo 'correct horse battery' >/tmp/phrase
ibsmctl security new /tmp/a/keys && ibsmctl security export --passphrase-file /tmp/phrase /tmp/a/keys >/tmp/sealed || fail "no secret"
ibsmctl security import --passphrase-file /tmp/phrase /tmp/b/keys </tmp/sealed || fail "no secret for the standby"
end $standby
settings $master "keys_file $(keys $master)"
ctl $master config reload || fail "the master does not reload"
within 60 all "mkey $(key) level 1" || fail "not all ports have the m_key: $(fabric keys)"
ctl $master security plan >/tmp/plan || fail "no plan"
grep PortInfo /tmp/plan | head -n 3
settings $master 'security tenants' "keys_file $(keys $master)"
ctl $master config reload || fail "the master does not reload"
within 60 all 'level 2 lease 60' && different || fail "not all ports have an M_Key of their own: $(fabric keys)"
fabric keys | awk '{ print $3 }' >/tmp/wanted
has_all() { local k; for k in $(cat /tmp/wanted); do grep -q $k /tmp/dir$master/guid2mkey || return 1; done; }
within 20 has_all || fail "guid2mkey lacks an M_Key: $(cat /tmp/dir$master/guid2mkey; fabric keys)"
cp /tmp/dir$master/guid2mkey /tmp/dir$master/neighbors /tmp/dir$standby/
settings $standby 'security tenants' "keys_file $(keys $standby)"
run $standby 3
within 60 stand && within 20 mirrors || fail "the standby does not stand by"
all 'level 2' || fail "a standby that knows the subnet had ports opened: $(fabric keys)"
still tenants
ctl $master security | tee /tmp/security | grep -v '^left'
ctl $master security offenders

# The next M_Keys.
fabric keys | awk '{ print $3 }' >/tmp/former
ctl $master security rotate || fail "no rotation"
within 60 none_of_before && all 'level 2 lease 60' && different || fail "not all ports have the next M_Keys: $(fabric keys)"
within 20 stand || fail "the standby does not stand by after the rotation"
still rotated

ping_off
there=$lost

# An OpenSM with the same m_key and the files of the master, and back.
fabric keys | awk '{ print $3 }' >/tmp/wanted
within 20 has_all || fail "guid2mkey lacks an M_Key: $(cat /tmp/dir$master/guid2mkey; fabric keys)"
end $standby
end $master
ibsmctl security show /tmp/a/keys >/tmp/shown || fail "no keys are shown"
{ cat /tmp/shown; printf 'm_key_protection_level 2\nm_key_lease_period 60\npartition_config_file /tmp/partitions.conf\n'; } >/tmp/osm.conf
OSM_CACHE_DIR=/tmp/dir$master OSM_TMP_DIR=/tmp/dir$master opensm -F /tmp/osm.conf -g $(port_guid $master) -p 8 -f /tmp/smosm.log >>/tmp/sm.out 2>&1 &
opensm=$!
within 90 in_state osm MASTER && within 60 all "mkey $(key) level 2" || fail "OpenSM does not take the fabric over: $(fabric keys)"
up || fail "OpenSM: not whole" # its routes are others
kill $opensm
wait $opensm
run $master 8
within 90 in_state $master MASTER && within 60 all 'level 2 lease 60' && within 60 different || fail "ibsm does not take the fabric back: $(fabric keys)"
fabric keys | awk '{ print $3 }' >/tmp/wanted
within 20 has_all || fail "guid2mkey lacks an M_Key: $(cat /tmp/dir$master/guid2mkey; fabric keys)"
cp /tmp/dir$master/guid2mkey /tmp/dir$master/neighbors /tmp/dir$standby/
run $standby 3
within 60 stand || fail "the standby does not stand by again"
up || fail "ibsm again: not whole"

# And back to open.
witness /tmp/first
ping_on 10.1.0.5
end $standby
settings $master 'security open' "keys_file $(keys $master)"
ctl $master config reload || fail "the master does not reload"
within 60 all "mkey $(key) level 1 lease 0" || fail "not all ports have the m_key: $(fabric keys)"
settings $master 'impose m_key,m_key_protection_level' 'm_key 0' 'm_key_protection_level 0' 'm_key_lease_period 0' "keys_file $(keys $master)"
ctl $master config reload || fail "the master does not reload"
within 60 all 'mkey 0000000000000000 level 0 lease 0' || fail "ports keep an M_Key: $(fabric keys)"
settings $standby 'impose m_key,m_key_protection_level' 'm_key 0' 'm_key_protection_level 0' 'm_key_lease_period 0' "keys_file $(keys $standby)"
run $standby 3
within 60 stand || fail "the standby does not stand by at the end"
still open
ping_off
downed | cmp - /tmp/downed.first || fail "links were down"
! grep -q 'state DOWN\|NO-CARRIER' /tmp/links || fail "a link left ACTIVE: $(cat /tmp/links)"
echo "ibsm: there, lost $there; and back, lost $lost"
