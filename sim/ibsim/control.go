package ibsim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// A message of the control socket, all in the byte order of the host. Each has
// one reply of the same form.
//
//	 0 magic
//	 4 client slot   of no meaning in CONNECT
//	 8 type
//	12 length of the data
//	16 data
const (
	controlHeader = 16
	controlData   = 64
	controlSize   = controlHeader + controlData
	controlMagic  = 0xdeadbeef
)

// controlType is what a control message asks for.
type controlType uint32

const (
	controlError       controlType = 0 // a reply only
	controlConnect     controlType = 1
	controlDisconnect  controlType = 2
	controlGetPort     controlType = 3
	controlGetVendor   controlType = 4
	controlGetGID      controlType = 5
	controlGetGUID     controlType = 6
	controlGetNodeInfo controlType = 7
	controlGetPortInfo controlType = 8
	controlSetIsSM     controlType = 9
	controlGetPKeys    controlType = 10
)

// maxSlots bounds how many clients a simulator serves, each in a slot. ibsim serves
// 10, Server more.
const maxSlots = 1024

// control is one message of the control socket.
type control struct {
	client uint32
	kind   controlType
	length uint32
	data   [controlData]byte
}

func (c *control) encode() (b [controlSize]byte) {
	binary.NativeEndian.PutUint32(b[0:], controlMagic)
	binary.NativeEndian.PutUint32(b[4:], c.client)
	binary.NativeEndian.PutUint32(b[8:], uint32(c.kind))
	binary.NativeEndian.PutUint32(b[12:], c.length)
	copy(b[controlHeader:], c.data[:])
	return b
}

func (c *control) decode(b []byte) error {
	if len(b) != controlSize {
		return fmt.Errorf("control message of %d bytes: expected %d", len(b), controlSize)
	}
	if m := binary.NativeEndian.Uint32(b); m != controlMagic {
		return fmt.Errorf("control message begins with %#x: expected %#x", m, uint32(controlMagic))
	}
	c.client = binary.NativeEndian.Uint32(b[4:])
	c.kind = controlType(binary.NativeEndian.Uint32(b[8:]))
	c.length = binary.NativeEndian.Uint32(b[12:])
	copy(c.data[:], b[controlHeader:])
	return nil
}

// clientInfo is the data of CONNECT. In the reply, id is the client's slot and
// node the ID of the node attached to.
//
//	 0 id    a number of the client's that names its data socket
//	 4 queue pair
//	 8 is SM
//	12 node  ID or description, NUL-terminated
const (
	clientInfoSize = 44
	nodeIDSize     = 32
)

type clientInfo struct {
	id   uint32
	isSM bool
	node string
}

func (i *clientInfo) encode(c *control) {
	c.length = clientInfoSize
	binary.NativeEndian.PutUint32(c.data[0:], i.id)
	if i.isSM {
		binary.NativeEndian.PutUint32(c.data[8:], 1)
	}
	copy(c.data[12:12+nodeIDSize-1], i.node)
}

func (i *clientInfo) decode(c *control) {
	i.id = binary.NativeEndian.Uint32(c.data[0:])
	i.isSM = binary.NativeEndian.Uint32(c.data[8:]) != 0
	node, _, _ := bytes.Cut(c.data[12:12+nodeIDSize], []byte{0})
	i.node = string(node)
}

// errRefused is the simulator's ERROR reply, which has no reason in it.
var errRefused = errors.New("refused")

// controller asks questions on the control socket, one at a time.
type controller struct {
	timeout time.Duration
	turn    chan struct{} // has a value while a question is open
	conn    net.Conn      // used by the goroutine that has put it there
}

// ask sends a message and overwrites it with its reply.
func (k *controller) ask(ctx context.Context, c *control) error {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	deadline := time.Now().Add(k.timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	k.conn.SetDeadline(deadline)
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		k.conn.SetDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	defer func() {
		if !stop() {
			<-interrupted // lest it spoil the next question
		}
	}()
	question := c.encode()
	if _, err := k.conn.Write(question[:]); err != nil {
		return k.explain(ctx, err)
	}
	asked := c.kind
	var answer [controlSize + 1]byte
	for {
		n, err := k.conn.Read(answer[:])
		if err != nil {
			return k.explain(ctx, err)
		}
		if err := c.decode(answer[:n]); err != nil {
			return err
		}
		switch c.kind {
		case asked:
			return nil
		case controlError:
			return errRefused
		}
		// The late reply to a question that was given up.
	}
}

// explain gives the cause of a failed question instead of its mechanics.
func (k *controller) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("no answer within %v: %w", k.timeout, os.ErrDeadlineExceeded)
	}
	return err
}
