# The adapter goes away under the manager and comes back; its module is removed; the
# port is down, or not there yet, when it starts.
. /etc/rig-lib.sh

# plug, unplug: the adapters with the fabric behind them.
unplug() {
	kill $(pidof fabricd)
	within 5 sh -c '! pidof fabricd' || fail "fabricd does not end"
	rmmod vhca || fail "rmmod vhca"
}
plug() {
	insmod /mods/vhca.ko hcas=4
	within 5 test -e /sys/class/infiniband_mad/umad3/dev || fail "no devices"
	for d in /sys/class/infiniband_mad/*/dev; do
		n=$(basename "$(dirname "$d")")
		rm -f /dev/infiniband/$n
		mknod /dev/infiniband/$n c $(tr : ' ' <$d)
	done
	fabricd -net /etc/fabric.net >>/tmp/fabricd.log 2>&1 &
	within 5 fabric ports || fail "fabricd does not answer"
}
waits() { tail -n 1 /tmp/sm.out | grep -q "waiting for the port: umad: $1"; }

# Not there yet: no module, then no adapter.
start_sm
within 5 waits 'no user MAD devices' || fail "does not wait for the module"
start_fabric 4
within 20 whole || fail "the fabric did not come up"
before=$(lids)
guid=$(port_guid 0)

for i in 1 2 3; do
	unplug
	within 5 waits '' || fail "does not notice that the device is gone"
	tail -n 1 /tmp/sm.out
	sound
	plug
	within 20 whole || fail "the device is not taken up again"
	[ "$(lids)" = "$before" ] || fail "LIDs moved: $before, then $(lids)"
	is_sm 0 || fail "IsSM is not set again"
done

# Gone while it sweeps.
fabric drop 30
kill -HUP $sm
sleep 0.2
unplug
within 5 waits '' || fail "does not notice that the device is gone while it sweeps"
plug
within 20 whole || fail "the device is not taken up again"
sound

# The port's link goes down and comes back.
fabric down sw1 1
within 15 grep -q 'SM port is down' /tmp/sm.log || fail "does not notice that its port is down"
fabric up sw1 1
within 15 whole || fail "its port is not taken up again"
# Its settings are lost, LID and all: no trap can tell.
fabric reboot 0
within 15 whole || fail "its port is not set up again"
sound
stop_sm

# Started with the link down: the port asked for is waited for.
fabric down sw1 1
start_sm -g $guid
within 10 sh -c '[ $(grep -c "SM port is down" /tmp/sm.log) -ge 2 ]' || fail "does not say that its port is down"
fabric up sw1 1
within 15 whole || fail "a port that was down is not taken up"
stop_sm
