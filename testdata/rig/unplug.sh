# The adapter goes away under the manager and comes back; its module is removed; the
# port is down, or not there yet, when it starts.
. /etc/rig-lib.sh

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
# Its settings are lost, LID and all: no trap can report it.
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
