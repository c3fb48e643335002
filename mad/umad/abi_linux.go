package umad

import (
	"encoding/binary"
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"

	"ibsm/mad"
)

// The kernel's structures, include/uapi/rdma/ib_user_mad.h: host order, but for the
// byte arrays, which are big-endian.

// header stands in front of every packet that is read or written.
type header struct {
	_            structs.HostLayout
	agent        uint32
	status       uint32 // of a read: 0, or ETIMEDOUT
	timeoutMS    uint32 // of a write: 0 when no answer is awaited
	retries      uint32
	length       uint32 // of a read
	qpn          [4]byte
	qkey         [4]byte
	lid          [2]byte
	sl           uint8
	pathBits     uint8
	grhPresent   uint8
	gidIndex     uint8
	hopLimit     uint8
	trafficClass uint8
	gid          [16]byte
	flowLabel    [4]byte
	pkeyIndex    uint16
	_            [6]byte
}

// maxFlowLabel is 20 bits.
const maxFlowLabel = 1<<20 - 1

// grh is what the kernel says of a GRH: of a packet that it received, as a reply has it.
func (h *header) grh() mad.GRH {
	if h.grhPresent == 0 {
		return mad.GRH{}
	}
	return mad.GRH{
		Present: true, GID: h.gid, FlowLabel: binary.BigEndian.Uint32(h.flowLabel[:]) & maxFlowLabel,
		TrafficClass: h.trafficClass, HopLimit: h.hopLimit, GIDIndex: h.gidIndex,
	}
}

func (h *header) setGRH(g *mad.GRH) {
	if !g.Present {
		return
	}
	h.grhPresent, h.gidIndex, h.hopLimit, h.trafficClass, h.gid = 1, g.GIDIndex, g.HopLimit, g.TrafficClass, g.GID
	binary.BigEndian.PutUint32(h.flowLabel[:], g.FlowLabel&maxFlowLabel)
}

// frame is what one read or write moves.
type frame struct {
	_      structs.HostLayout
	header header
	packet mad.Packet
}

// agentRequest2 is IB_USER_MAD_REGISTER_AGENT2's argument.
type agentRequest2 struct {
	_           structs.HostLayout
	id          uint32 // out
	qpn         uint32
	class       uint8
	version     uint8
	_           [2]byte
	flags       uint32
	methods     [2]uint64 // bit m%64 of word m/64
	oui         uint32
	rmppVersion uint8
	_           [3]byte
}

// agentRequest is IB_USER_MAD_REGISTER_AGENT's, for kernels before 3.17.
type agentRequest struct {
	_           structs.HostLayout
	id          uint32   // out
	methods     [16]byte // two 64-bit words in host order
	qpn         uint8
	class       uint8
	version     uint8
	oui         [3]byte
	rmppVersion uint8
	_           uint8
}

const (
	headerSize = 64
	frameSize  = headerSize + mad.PacketSize
)

var (
	_ [headerSize]byte = [unsafe.Sizeof(header{})]byte{}
	_ [frameSize]byte  = [unsafe.Sizeof(frame{})]byte{}
	_ [40]byte         = [unsafe.Sizeof(agentRequest2{})]byte{}
	_ [28]byte         = [unsafe.Sizeof(agentRequest{})]byte{}
)

// bytes is the frame as the kernel reads or writes it, as a view.
func (f *frame) bytes() []byte { return (*[frameSize]byte)(unsafe.Pointer(f))[:] }

// Requests of the devices, as x86, arm64 and riscv64 encode them.
const (
	ioctlRegisterAgent  = 0xC01C1B01
	ioctlEnablePKey     = 0x00001B03
	ioctlRegisterAgent2 = 0xC0281B04
)

// userRMPP leaves segmentation and reassembly to us.
const userRMPP = 1

// methodMask has a bit for each method.
func methodMask(methods []mad.Method) (mask [2]uint64) {
	for _, m := range methods {
		mask[m/64%2] |= 1 << (m % 64)
	}
	return mask
}

// registerAgent asks for an agent for a class on a queue pair, which is given others'
// requests with one of the methods, and returns its number. An agent of class 0 sends
// requests of any class, and is given only the responses to them.
func registerAgent(fd int, qp int, class mad.Class, methods []mad.Method) (uint32, error) {
	mask := methodMask(methods)
	r2 := agentRequest2{qpn: uint32(qp), class: uint8(class), version: class.Version(), methods: mask}
	if class == mad.ClassSA || class == mad.ClassMirror {
		r2.rmppVersion, r2.flags = 1, userRMPP
	}
	if class == mad.ClassMirror {
		r2.oui = mad.MirrorOUI
	}
	err := ioctl(fd, ioctlRegisterAgent2, unsafe.Pointer(&r2))
	if err != unix.ENOTTY && err != unix.ENOSYS {
		return r2.id, err
	}
	// An agent without an RMPP version is given RMPP as it comes, too.
	if err := ioctl(fd, ioctlEnablePKey, nil); err != nil && err != unix.EINVAL { // EINVAL: it is enabled
		return 0, err
	}
	r := agentRequest{qpn: uint8(qp), class: uint8(class), version: class.Version()}
	r.oui = [3]byte{byte(r2.oui >> 16), byte(r2.oui >> 8), byte(r2.oui)}
	binary.NativeEndian.PutUint64(r.methods[:8], mask[0])
	binary.NativeEndian.PutUint64(r.methods[8:], mask[1])
	err = ioctl(fd, ioctlRegisterAgent, unsafe.Pointer(&r))
	return r.id, err
}

// ioctl returns nil or a unix.Errno.
func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return errno
		}
	}
}
