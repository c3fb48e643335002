package ibsim

import (
	"fmt"
	"net"
	"strconv"
	"time"
)

// Config says where the simulator is and which node to attach to. The zero value
// means the stated defaults.
type Config struct {
	SockName string        // base of the local socket names; "sim"
	Server   string        // host of a simulator that runs with -r; "" means the local one
	Port     int           // its control port; 7070
	Node     string        // node ID or description to attach to; "" means the simulator's first
	Timeout  time.Duration // for each answer on the control socket; 5 s
}

const defaultServerPort = 7070

// EnvConfig reads IBSIM_SOCKNAME, IBSIM_SERVER_NAME, IBSIM_SERVER_PORT and
// SIM_HOST, as all clients of the simulator do. getenv is usually os.Getenv.
func EnvConfig(getenv func(string) string) (Config, error) {
	c := Config{
		SockName: getenv("IBSIM_SOCKNAME"),
		Server:   getenv("IBSIM_SERVER_NAME"),
		Node:     getenv("SIM_HOST"),
	}
	if s := getenv("IBSIM_SERVER_PORT"); s != "" {
		p, err := strconv.Atoi(s)
		if err != nil || p < 1 || p > maxServerPort {
			return Config{}, fmt.Errorf("IBSIM_SERVER_PORT %q: expected a port number from 1 to %d", s, maxServerPort)
		}
		c.Port = p
	}
	return c, c.check()
}

// maxServerPort leaves room for the data ports, which follow the control port.
const maxServerPort = 65535 - maxSlots

// maxSockName is what fits into a socket address with the longest suffix and the
// NULs around it.
const maxSockName = 108 - len("\x00:ctl2147483647\x00")

func (c Config) check() error {
	if len(c.SockName) > maxSockName {
		return fmt.Errorf("IBSIM_SOCKNAME has %d bytes: expected at most %d", len(c.SockName), maxSockName)
	}
	if len(c.Node) >= nodeIDSize {
		return fmt.Errorf("SIM_HOST %q: expected at most %d bytes", c.Node, nodeIDSize-1)
	}
	if c.Port < 0 || c.Port > maxServerPort {
		return fmt.Errorf("server port %d: expected 1 to %d", c.Port, maxServerPort)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.SockName == "" {
		c.SockName = "sim"
	}
	if c.Port == 0 {
		c.Port = defaultServerPort
	}
	if c.Timeout <= 0 {
		c.Timeout = 5 * time.Second
	}
	return c
}

// String is where the control socket of the simulator is.
func (c Config) String() string {
	c = c.withDefaults()
	if c.Server != "" {
		return net.JoinHostPort(c.Server, strconv.Itoa(c.Port))
	}
	return "@" + c.SockName + ":ctl"
}
