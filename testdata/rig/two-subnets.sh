# One host, two ports on two subnets, a manager for each. Start with the rig's
# two-subnets.net.
. /etc/rig-lib.sh
start_fabric 4
start_sm -g $(port_guid 0)
first=$sm
ibsm -g $(port_guid 2) -f /tmp/sm2.log >/tmp/sm2.out 2>&1 &
second=$!
two() { active 0 1 2 3 && paths 0 1 && paths 2 3; }
within 20 two || fail "the subnets did not come up"
is_sm 0 && is_sm 2 || fail "IsSM is not set"

# One manager stops; the other subnet carries on and still answers.
sm=$first stop_sm
fabric reboot 3
within 20 active 3 || fail "the other subnet does not respond"
sminfo -C vhca3 | grep SMINFO_MASTER || fail "sminfo"
saquery -C vhca3 -c || fail "saquery"
[ "$(saquery -C vhca3 -N | grep -c NodeRecord)" = 3 ] || fail "saquery -N"
sm=$second at=2 stop_sm
