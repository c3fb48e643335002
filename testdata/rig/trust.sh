# Tenants who are root on their hosts: with security tenants and one secret, the kernel's IPoIB and its SA client work without any
# setting on the hosts, and a host learns and changes nothing of the others.
. /etc/rig-lib.sh
start_fabric 4
ibsmctl security new /tmp/keys || fail "no secret"
eval $(ibsmctl security show /tmp/keys | tr ' ' =)
cat >/tmp/ibsm.conf <<CONF
security tenants
keys_file /tmp/keys
sa_rate_threshold 20
partition_config_file /tmp/partitions.conf
CONF
cat >/tmp/partitions.conf <<CONF
Default=0x7fff, ipoib: ALL=limited, SELF=full;
blue=0x12, ipoib, defmember=full: $(port_guid 2), $(port_guid 3);
CONF
start_sm -F /tmp/ibsm.conf
within 60 whole || fail "the fabric did not come up"
for n in 0 1 2 3; do host $n; done
child 2 8012 10.1.0.3
child 3 8012 10.1.0.4
within 60 from 2 10.1.0.4 || fail "blue: 2 and 3 do not talk"
within 60 from 1 10.0.0.1 || fail "a limited member does not reach the manager's host"
unreachable 1 10.0.0.3 || fail "limited members reach each other"
saclient $(port_guid 2) || fail "host 2 cannot register a service of its own"

# What the tenant at adapter 1 asks, and what the operator does with the key.
asked=0 leaked=0 shown=0
for q in NR PIR LR SWIR -g MCMR SR IIR "PR" "PKTR --smkey 0" "NR --smkey 1"; do
	asked=$((asked + 1))
	saquery -C vhca1 -t 300 $q >/tmp/answer 2>&1
	grep -q 'dump:' /tmp/answer && leaked=$((leaked + 1))
done
for q in NR PIR LR SWIR MCMR SR IIR; do
	saquery -C vhca0 --smkey $sa_key $q 2>&1 | grep -q 'dump:' && shown=$((shown + 1))
done
saquery -C vhca1 CPI | grep -q . || fail "a tenant has no ClassPortInfo"

# In the name of adapter 2: its membership and its service are deleted, a port is disabled.
registered_by_key() { for q in MCMR SR; do saquery -C vhca0 --smkey $sa_key $q; done | sort; }
registered_by_key >/tmp/before
guid2=$(port_guid 2 | sed 's/0x//')
fabric inject 1 class=sa method=delete attr=0x38 mask=0x10003 data=ff12401bffff000000000000ffffffff$(printf fe80000000000000)$guid2 at=104:01 >/tmp/leave
fabric inject 1 class=smp dr=0,1,1 method=set attr=0x15 mod=1 at=96:01 >/tmp/down
registered_by_key >/tmp/after
cmp -s /tmp/before /tmp/after && same=yes || same=no
whole && up=yes || up=no

# A flood, while others talk.
ip netns exec ns2 ping -q -i 0.02 -c 350 10.1.0.4 >/tmp/blue.ping &
blue=$!
fabric inject 1 class=sa attr=1 count=3000 every=2ms wait=0
wait $blue
loss=$(sed -n 's/.* \([0-9.]*\)% packet loss.*/\1/p' /tmp/blue.ping)
ibsmctl security offenders >/tmp/offenders
for why in untrusted 'bad SM_Key' 'rate limit'; do
	grep -q "$why" /tmp/offenders || fail "nobody is named for: $why; $(cat /tmp/offenders)"
done
grep -q "$(port_guid 1)" /tmp/offenders || fail "adapter 1 is not named"
ibsmctl security >/tmp/security; holds=$(grep -c '^holds' /tmp/security)
sound
stop_sm
echo "ibsm: of $asked questions of a tenant $leaked were answered, of 7 with the key $shown; registrations the same $same, ports up $up; in a flood of 3000 requests others lost $loss %; $holds rules hold"
