# Counters on real umad devices: the performance manager reads every port through the kernel's agent
# of class 0x04, that of its own host too, and shows what perfquery shows; queries to the SA are
# answered beside it.
. /etc/rig-lib.sh
start_fabric 4
printf 'perfmgr TRUE\nperfmgr_sweep_time_s 1\n' >/tmp/sm.conf
start_sm -F /tmp/sm.conf --ctl_socket /tmp/s
within 60 whole || fail "no path"
export IBSM_SOCKET=/tmp/s
sw1=$(fabric ports | sed -n 's,^sw1/0 .* lid \([0-9]*\) .*,\1,p')
whole_sweep() { ibsmctl counters | grep -q ': 20 of 20 ports answered'; }
within 20 whole_sweep || fail "not all ports answer: $(ibsmctl counters)"
fabric errors sw1 7 symbol 700
fabric errors hca3 1 downed 3
# shown PORT COUNTER: its value.
shown() { ibsmctl counters "$1" | awk -v c="$2" '$1 == c { print $2; exit }'; }
value() { sed -n "s/^$1:[.]*//p"; }
h3=$(printf %d $(cat /sys/class/infiniband/vhca3/ports/1/lid))
fell() { [ "$(shown $h3 LinkDownedCounter)" -ge 3 ]; }
within 10 fell || fail "link downs of hca3: $(ibsmctl counters $h3)"
down=$(shown $h3 LinkDownedCounter)
asked=$(perfquery -C vhca0 $h3 1 | value LinkDownedCounter)
ibsmctl counters $sw1 >/tmp/counters
sym=$(awk '/ port 7 / { at = 1 } at && $1 == "SymbolErrorCounter" { print $2; exit }' /tmp/counters)
symq=$(perfquery -C vhca0 $sw1 7 | value SymbolErrorCounter)
saquery -C vhca3 -N >/dev/null || fail "the SA does not answer"
ibsmctl counters top errors
line=$(grep -c 'ERR 5431: SymbolErrorCounter : 700' /tmp/sm.log)
echo "ibsm: symbol errors $sym, perfquery $symq; link downs $down, perfquery $asked; lines in the log $line; $(ibsmctl counters | head -n 1)"
[ "$sym" = "$symq" ] && [ "$sym" = 700 ] && [ "$down" = "$asked" ] && [ "$line" = 1 ]
