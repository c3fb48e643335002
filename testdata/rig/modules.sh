# The kernel's modules go away under the manager and come back: ib_umad, which the kernel
# keeps as long as the manager has it open, and the adapter's driver, which it does not.
. /etc/rig-lib.sh
start_fabric 4
start_sm
within 20 whole || fail "the fabric did not come up"
before=$(lids)
lines=$(wc -l </tmp/sm.out)

# In use it stays, and nothing happens to the manager.
! rmmod ib_umad 2>/tmp/refused || fail "the kernel unloads ib_umad while it is in use"
cat /tmp/refused
sound
is_sm 0 || fail "IsSM is not set any more"

# The driver goes, then ib_umad: a line for each, and no more while it waits.
unplug
within 5 waits '' || fail "does not notice that the driver is gone"
within 5 rmmod ib_umad || fail "the manager holds ib_umad though the device is gone"
within 5 waits 'no user MAD devices.*ib_umad' || fail "does not say that the module is missing"
sleep 3
[ $(($(wc -l </tmp/sm.out) - lines)) -le 3 ] || fail "says too much: $(cat /tmp/sm.out)"
tail -n +$((lines + 1)) /tmp/sm.out
sound

# The module alone changes nothing; with the driver the port is taken up again.
insmod /mods/ib_umad.ko
sleep 2
sound
plug
within 20 whole || fail "the port is not taken up again"
[ "$(lids)" = "$before" ] || fail "LIDs moved: $before, then $(lids)"
is_sm 0 || fail "IsSM is not set again"
stop_sm

# absent: the manager ends within a second, with status 0, although its port is not there;
# when it is there again IsSM is not set.
absent() {
	local from=$(now) status
	kill -TERM $sm
	wait $sm
	status=$?
	[ $status = 0 ] || fail "$1: the manager ended with status $status"
	[ $(($(now) - from)) -le 1000 ] || fail "$1: the manager took $(($(now) - from)) ms to end"
	echo "stopped in $(($(now) - from)) ms, $1"
	[ -e /sys/module/ib_umad ] || insmod /mods/ib_umad.ko
	plug
	! is_sm 0 || fail "$1: IsSM is set"
}

# Stopped while it waits for the module, for the driver, and as the driver goes.
start_sm
within 20 whole || fail "the fabric did not come up"
unplug
within 5 rmmod ib_umad || fail "the manager holds ib_umad though the device is gone"
within 5 waits 'no user MAD devices' || fail "does not say that the module is missing"
absent "without ib_umad"
start_sm
within 20 whole || fail "the fabric did not come up"
unplug
within 5 waits '' || fail "does not notice that the driver is gone"
absent "without a driver"
start_sm
within 20 whole || fail "the fabric did not come up"
fabric drop 30
kill -HUP $sm
unplug
absent "as the driver goes"
