package umad

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ibsm/mad"
)

// Device is a port that is open: its QP0, its QP1 and its IsSM bit. One goroutine
// calls SetIsSM; Close may be called from anywhere.
type Device struct {
	SMI *Port // subnet management, by directed route and by LID
	GSI *Port // subnet administration, other managers, performance management, congestion control

	at     Pair
	nodes  [2]os.FileInfo // of SMI and GSI in sysfs when they were opened; nil if that had none
	mu     sync.Mutex
	issm   *os.File // guarded by mu; open while IsSM is set
	closed bool     // guarded by mu
}

// Methods of requests that are received, by class.
var (
	smMethods = []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodTrap, mad.MethodTrapRepress}
	saMethods = []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodGetTable, mad.MethodGetMulti, mad.MethodDelete}
	// From a master that is not ibsm, to which a standby subscribes as a client. Where another
	// process of this host receives them, it works without.
	reports = []mad.Method{mad.MethodReport}
	// From other ibsm managers: questions, and acknowledgements of answers.
	mirrorMethods = []mad.Method{mad.MethodGetTable}
)

// Open opens a port. The error is one line that says what is in the way and what to
// do about it.
func Open(at Pair, cfg Config) (*Device, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Second
	}
	if cfg.QueryTimeout <= 0 {
		cfg.QueryTimeout = cfg.Timeout
	}
	if cfg.ReportTimeout <= 0 {
		cfg.ReportTimeout = cfg.Timeout
	}
	if !cfg.Serve {
		return openDevice(at, cfg, nil, nil)
	}
	return openDevice(at, cfg, smMethods, saMethods)
}

// OpenBest opens the port that Choose returns for a GUID. If its driver reports only then
// that it has no QP0 (EPROTONOSUPPORT), the next port is tried.
func OpenBest(root string, guid mad.GUID, cfg Config) (Pair, *Device, error) {
	ports, err := Ports(root)
	if err != nil {
		return Pair{}, nil, err
	}
	return openBest(ports, guid, func(at Pair) (*Device, error) { return Open(at, cfg) })
}

func openBest(ports []HostPort, guid mad.GUID, open func(Pair) (*Device, error)) (at Pair, dev *Device, err error) {
	for {
		next, none := Choose(ports, guid)
		if none != nil {
			if err == nil {
				err = none
			}
			return at, nil, err
		}
		at = next
		if dev, err = open(at); !errors.Is(err, unix.EPROTONOSUPPORT) {
			return at, dev, err
		}
		ports[slices.Index(ports, at.SMI)].NoSMI = true
	}
}

func openDevice(at Pair, cfg Config, sm, sa []mad.Method) (*Device, error) {
	smi, err := openPort(at.SMI, 0, cfg,
		registration{class: mad.ClassDirected, methods: sm}, registration{class: mad.ClassLIDRouted, methods: sm})
	if err != nil {
		return nil, err
	}
	classes := []registration{{class: mad.ClassSA, methods: sa}}
	if cfg.Serve {
		classes[0].may = reports
		classes = append(classes, registration{class: mad.ClassMirror, methods: mirrorMethods})
		// To ask for counters, and to write settings of congestion control. Requests go to the host's own
		// agents, which the driver is.
		classes = append(classes, registration{class: mad.ClassPerf}, registration{class: mad.ClassCongestion})
	}
	gsi, err := openPort(at.GSI, 1, cfg, classes...)
	if err != nil {
		smi.Close()
		return nil, err
	}
	return newDevice(at, smi, gsi), nil
}

func newDevice(at Pair, smi, gsi *Port) *Device {
	return &Device{SMI: smi, GSI: gsi, at: at, nodes: [2]os.FileInfo{at.SMI.node(), at.GSI.node()}}
}

// State reads the PortState of the port of QP0 anew from sysfs; 0 when the port is gone. If the host has removed a
// device since it was opened, State ends both queue pairs: kernels before 5.11 let a reader wait for ever, and a
// manager that is NOT-ACTIVE only reads. A device that was removed and is there again counts as removed: the files that
// are open are still those of before. It may be called from anywhere.
func (d *Device) State() uint8 {
	for i, at := range []*HostPort{&d.at.SMI, &d.at.GSI} {
		if was := d.nodes[i]; was != nil && !os.SameFile(was, at.node()) {
			d.end(fault(*at, "watch "+at.devicePath(at.umad), unix.ENODEV))
			return 0
		}
	}
	return d.at.SMI.CurrentState()
}

// registration is a class that a file takes part in.
type registration struct {
	class   mad.Class
	methods []mad.Method
	may     []mad.Method // besides, if nobody else has them
}

// openPort opens the file of a queue pair.
func openPort(at HostPort, qp int, cfg Config, registrations ...registration) (*Port, error) {
	if !at.IsInfiniBand() {
		return nil, fmt.Errorf("umad: %v: %w: its link layer is %s", at, ErrNotInfiniBand, at.LinkLayer)
	}
	path := at.devicePath(at.umad)
	fd, err := open(path)
	if err != nil {
		return nil, fault(at, "open "+path, err)
	}
	var list []agent
	for _, r := range registrations {
		id, err := registerAgent(fd, qp, r.class, slices.Concat(r.methods, r.may))
		if err != nil && r.may != nil {
			id, err = registerAgent(fd, qp, r.class, r.methods)
		}
		if err != nil {
			unix.Close(fd)
			return nil, inUse(at, fmt.Sprintf("register class %v at %s", r.class, path), err)
		}
		list = append(list, agent{r.class, id})
	}
	for range senders {
		id, err := registerAgent(fd, qp, 0, nil)
		if err != nil {
			break // with fewer, requests may wait in the kernel
		}
		list = append(list, agent{0, id})
	}
	p, err := newPort(fd, fmt.Sprintf("%v (%s)", at, path), qp, list, cfg)
	if err != nil {
		return nil, fault(at, path, err)
	}
	return p, nil
}

func (p *HostPort) devicePath(name string) string {
	return filepath.Join(p.root, "dev/infiniband", name)
}

// open opens a device file without waiting.
func open(path string) (fd int, err error) {
	for {
		fd, err = unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// fault is an errno in a sentence.
func fault(at HostPort, doing string, err error) error {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("umad: %v: %s: %w", at, doing, err)
	}
	return fmt.Errorf("umad: %v: %s: %w (%s): %s", at, doing, err, unix.ErrnoName(errno), advice(errno))
}

// advice says what to do about an errno.
func advice(errno unix.Errno) string {
	switch errno {
	case unix.EACCES, unix.EPERM:
		return "run as root, or as a member of the device file's group (often rdma). If that is so, SELinux or a device cgroup " +
			"refuses it: see ausearch -m avc, DeviceAllow of the unit, and the devices given to the container"
	case unix.ENOENT:
		return "load the module ib_umad; udev makes the file when the device is there"
	case unix.ENXIO, unix.ENODEV, unix.EPIPE, unix.EIO:
		return "the device is gone; see the kernel's log"
	case unix.EINVAL, unix.EAGAIN, unix.EBUSY:
		return "another subnet manager runs at this port; stop it first"
	case unix.EPROTONOSUPPORT, unix.EOPNOTSUPP:
		return "this port does not take part in subnet management; choose another with -g"
	}
	return "see the kernel's log"
}

// SetIsSM sets or clears IsSM in the port's CapabilityMask. It is set for as long as
// a file is open, so it does not outlive the process.
func (d *Device) SetIsSM(is bool) error {
	if !is {
		return d.clearIsSM(false)
	}
	d.mu.Lock()
	set, closed := d.issm != nil, d.closed
	d.mu.Unlock()
	switch {
	case closed:
		return os.ErrClosed
	case set:
		return nil
	}
	at := d.at.SMI
	path := at.devicePath(at.issm)
	fd, err := open(path)
	if err != nil {
		return fault(at, "open "+path+" to set IsSM", err)
	}
	file := os.NewFile(uintptr(fd), path)
	d.mu.Lock()
	if closed = d.closed; !closed {
		d.issm = file
	}
	d.mu.Unlock()
	if closed { // while it was opened
		file.Close()
		return os.ErrClosed
	}
	return nil
}

// clearIsSM clears IsSM; for good where the device is closing.
func (d *Device) clearIsSM(closing bool) error {
	d.mu.Lock()
	file := d.issm
	d.issm, d.closed = nil, d.closed || closing
	d.mu.Unlock()
	if file == nil {
		return nil
	}
	return file.Close()
}

// Close clears IsSM and closes both queue pairs; it ends a blocked Recv of either.
func (d *Device) Close() error {
	_ = d.clearIsSM(true)
	d.end(errClosed)
	return nil
}

// end ends both queue pairs. What broke one before has broken both.
func (d *Device) end(err error) {
	d.GSI.ended(d.SMI.ended(err))
	d.SMI.Close()
	d.GSI.Close()
}
