package ibsim

// maxSMPs is how many SMPs of one client are read before their turn has come.
const maxSMPs = 256

// smps are the SMPs that clients have sent, in the order in which they came. As on an
// adapter, queue pairs 0 and 1 have queues of their own: what goes to queue pair 1 does not
// wait for the agents that answer SMPs.
type smps struct {
	queue []clientSMP // queue[head:] waits
	head  int
}

type clientSMP struct {
	client *client
	frame  [frameSize]byte
}

func (q *smps) waiting() int { return len(q.queue) - q.head }

func (q *smps) push(c *client, frame *[frameSize]byte) {
	if q.head > len(q.queue)/2 {
		q.queue = q.queue[:copy(q.queue, q.queue[q.head:])]
		q.head = 0
	}
	c.smps++
	q.queue = append(q.queue, clientSMP{c, *frame})
}

// pop takes out the first. The frame holds until the next push.
func (q *smps) pop() (*client, []byte) {
	first := &q.queue[q.head]
	q.head++
	first.client.smps--
	return first.client, first.frame[:]
}
