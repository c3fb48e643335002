# Tenants on one fabric: who is in no partition with another does not reach it, limited
# members reach full ones alone, and a host that is taken out stops while nobody else
# loses a packet.
. /etc/rig-lib.sh
start_fabric 4
cat >/tmp/partitions.conf <<CONF
red=0x11, ipoib, defmember=full: $(port_guid 0), $(port_guid 1);
blue=0x12, ipoib, defmember=full: $(port_guid 2), $(port_guid 3);
storage=0x13, ipoib: $(port_guid 0)=full, $(port_guid 1), $(port_guid 2), $(port_guid 3);
CONF
start_sm -P /tmp/partitions.conf
within 20 whole || fail "the fabric did not come up"
for n in 0 1 2 3; do
	host $n
	child $n 8013 10.13.0.$((n + 1))
done
child 0 8011 10.1.0.1
child 1 8011 10.1.0.2
child 2 8012 10.1.0.3
child 3 8012 10.1.0.4

# Each host reaches exactly the hosts that it should.
within 20 from 0 10.1.0.2 || fail "red: 0 and 1"
within 20 from 2 10.1.0.4 || fail "blue: 2 and 3"
for n in 1 2 3; do
	within 20 from $n 10.13.0.1 || fail "storage: limited member $n and the full one"
done
# Nobody else, be it in the addresses of the other tenant or among limited members.
unreachable 0 10.1.0.3 || fail "red reaches blue"
unreachable 3 10.1.0.2 || fail "blue reaches red"
unreachable 1 10.13.0.3 || fail "limited members reach each other"
unreachable 3 10.13.0.2 || fail "limited members reach each other"
# A host that gives itself the other tenant's interface gains nothing.
child 1 8012 10.1.0.5
unreachable 1 10.1.0.3 ib1.8012 || fail "a host is in a partition by its own will"

# Host 1 is taken out of red, while others ping every 10 ms.
ip netns exec ns2 ping -q -i 0.01 -c 800 10.1.0.4 >/tmp/blue.ping &
blue=$!
ip netns exec ns2 ping -q -i 0.01 -c 800 10.13.0.1 >/tmp/storage.ping &
storage=$!
sleep 1
within 5 from 0 10.1.0.2 || fail "red: 0 and 1, before the change"
ibsmctl partitions remove -f /tmp/partitions.conf red $(port_guid 1) || fail "remove"
from=$(now)
ibsmctl partitions apply || fail "apply"
took=$(($(now) - from))
sleep 0.5
kill -0 $blue && kill -0 $storage || fail "the others did not ping all the time"
unreachable 0 10.1.0.2 || fail "red: 1 is reached after the apply"
unreachable 1 10.1.0.1 ib1.8011 || fail "red: 1 still reaches 0"
echo "host 1 was out $took ms after it began"
wait $blue $storage
for who in blue storage; do
	grep transmitted /tmp/$who.ping
	grep -q ' 0% packet loss' /tmp/$who.ping || fail "$who lost packets"
done
within 5 from 1 10.13.0.1 || fail "storage: 1 is out of it as well"

# And back.
from=$(now)
ibsmctl partitions undo -f /tmp/partitions.conf && ibsmctl partitions apply || fail "undo"
within 20 from 0 10.1.0.2 || fail "red: 1 is not back"
echo "host 1 was back $(($(now) - from)) ms after it began"

# A broken file changes nothing, and apply says so.
echo 'green=0x14 ALL=full;' >>/tmp/partitions.conf
! ibsmctl partitions apply >/tmp/refused 2>&1 || fail "a broken file is applied"
grep -q "partitions.conf:4:1: " /tmp/refused || fail "the position of the error: $(cat /tmp/refused)"
within 5 from 0 10.1.0.2 || fail "a broken file has cut red"
unreachable 0 10.1.0.3 || fail "a broken file has opened the walls"
sound
stop_sm
