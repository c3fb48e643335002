# Signals in every phase: no panic, no hang, nothing half written.
. /etc/rig-lib.sh
start_fabric 4

# Ended, or killed, 0, 15, 30 ... ms after it has begun.
for signal in TERM INT KILL; do
	for i in $(seq 0 15); do
		rm -f /tmp/sm.log
		start_sm -V
		within 5 test -s /tmp/sm.log || fail "it does not begin"
		sleep $(awk -v i=$i 'BEGIN { print i * 0.015 }')
		if [ $signal != KILL ]; then
			stop_sm $signal
			continue
		fi
		kill -KILL $sm
		wait $sm
		! is_sm 0 || fail "IsSM outlives the manager"
		fabric reboot-switch sw1 # the next one begins with half a fabric
	done
done 2>/dev/null

start_sm -s 2
within 20 whole || fail "the fabric did not come up"

# Stopped while the fabric changes; it goes on as if it had blinked.
kill -STOP $sm
fabric reboot-switch sw2
sleep 5
kill -CONT $sm
within 15 whole || fail "not repaired after SIGCONT"
sound

# The fabric stops: nothing answers, and then all does.
kill -STOP $(pidof fabricd)
sleep 5
kill -CONT $(pidof fabricd)
within 30 whole || fail "not repaired after the fabric was paused"
sound

# Stopped, continued, and swept, again and again.
for i in $(seq 20); do
	kill -HUP $sm
	sleep 0.03
	kill -STOP $sm
	sleep 0.03
	kill -CONT $sm
	kill -USR1 $sm
	[ $((i % 5)) != 0 ] || fabric reboot 3
done
within 20 whole || fail "not repaired after a storm of signals"
sound
sleep 3
content || fail "fabcheck: $(cat /tmp/fabcheck.out)"
stop_sm
