package kubernetes

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// manifests are the objects of all files.
type manifests struct {
	namespace core.Namespace
	config    core.ConfigMap
	managers  apps.DaemonSet
	service   core.Service
	container *core.Container // the manager
}

// read reads a file of one object. Unknown and repeated fields are errors.
func read(t *testing.T, file, kind string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var of struct{ Kind string }
	if err := yaml.Unmarshal(text, &of); err != nil || of.Kind != kind || bytes.Contains(text, []byte("\n---")) {
		t.Fatalf("%s: kind %q, want one object of kind %s: %v", file, of.Kind, kind, err)
	}
	text, err = yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if strict, err := json.UnmarshalStrict(text, into); err != nil || len(strict) > 0 {
		t.Fatalf("%s: %v %v", file, strict, err)
	}
}

func readAll(t *testing.T) *manifests {
	m := &manifests{}
	read(t, "namespace.yaml", "Namespace", &m.namespace)
	read(t, "config.yaml", "ConfigMap", &m.config)
	read(t, "managers.yaml", "DaemonSet", &m.managers)
	read(t, "service.yaml", "Service", &m.service)
	m.container = &m.managers.Spec.Template.Spec.Containers[0]
	return m
}

// setting is a setting of opensm.conf; "" without it.
func (m *manifests) setting(key string) string {
	for line := range strings.Lines(m.config.Data["opensm.conf"]) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == key {
			return fields[1]
		}
	}
	return ""
}

// TestNames: all objects are in one namespace, and lead to each other.
func TestNames(t *testing.T) {
	m := readAll(t)
	for _, namespace := range []string{m.config.Namespace, m.managers.Namespace, m.service.Namespace} {
		if namespace != m.namespace.Name {
			t.Errorf("namespace %q, want %q", namespace, m.namespace.Name)
		}
	}
	labels := m.managers.Spec.Template.Labels
	for _, selector := range []map[string]string{m.managers.Spec.Selector.MatchLabels, m.service.Spec.Selector} {
		if len(selector) == 0 {
			t.Error("an empty selector")
		}
		for key, value := range selector {
			if labels[key] != value {
				t.Errorf("the pods have the label %s=%s, the selector %s", key, labels[key], value)
			}
		}
	}
	var kustomization struct {
		Namespace string
		Resources []string
	}
	text, err := os.ReadFile("kustomization.yaml")
	if err != nil || yaml.Unmarshal(text, &kustomization) != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(kustomization.Resources)
	files = slices.DeleteFunc(files, func(f string) bool { return f == "kustomization.yaml" })
	if !slices.Equal(files, kustomization.Resources) || kustomization.Namespace != m.namespace.Name {
		t.Errorf("%+v, the folder has %q", kustomization, files)
	}
}

// TestPorts: the container's ports are those of the settings, and the Service and the probe lead to the right ones.
func TestPorts(t *testing.T) {
	m := readAll(t)
	ports := map[string]int32{}
	for _, p := range m.container.Ports {
		ports[p.Name] = p.ContainerPort
		if got, want := m.setting(p.Name+"_addr"), ":"+number(p.ContainerPort); got != want {
			t.Errorf("%s_addr is %q, the container has %s", p.Name, got, want)
		}
	}
	if len(ports) != 3 || !m.managers.Spec.Template.Spec.HostNetwork {
		t.Errorf("ports %v, want api, leader and metrics on the host's network", ports)
	}
	if p := m.service.Spec.Ports; len(p) != 1 || p[0].TargetPort.StrVal != "api" || m.service.Spec.PublishNotReadyAddresses {
		t.Errorf("the Service does not lead to the API of the pod that is ready alone: %+v", m.service.Spec)
	}
	ready, alive := m.container.ReadinessProbe, m.container.LivenessProbe
	if ready.HTTPGet == nil || ready.HTTPGet.Path != "/leader" || ready.HTTPGet.Port.StrVal != "leader" {
		t.Errorf("ready by %+v, want GET /leader", ready)
	}
	if alive.Exec == nil || alive.HTTPGet != nil {
		t.Errorf("alive by %+v: a standby answers /leader with 503, and must not be killed", alive)
	}
	// one that waits for ready pods waits for the standby for ever
	if m.managers.Spec.UpdateStrategy.Type != apps.OnDeleteDaemonSetStrategyType {
		t.Errorf("update strategy %v", m.managers.Spec.UpdateStrategy.Type)
	}
}

func number(n int32) (text string) {
	for ; n > 0; n /= 10 {
		text = string(rune('0'+n%10)) + text
	}
	return text
}

// TestFiles: every file that the settings name is in a volume, secrets in one that others cannot read, and every
// folder that a manager writes to is writable.
func TestFiles(t *testing.T) {
	m := readAll(t)
	volumes := map[string]*core.Volume{}
	for i := range m.managers.Spec.Template.Spec.Volumes {
		v := &m.managers.Spec.Template.Spec.Volumes[i]
		volumes[v.Name] = v
	}
	mounted := func(file string) (*core.VolumeMount, *core.Volume) {
		var found *core.VolumeMount
		for i := range m.container.VolumeMounts {
			mount := &m.container.VolumeMounts[i]
			if strings.HasPrefix(file, mount.MountPath+"/") &&
				(found == nil || len(found.MountPath) < len(mount.MountPath)) {
				found = mount
			}
		}
		if found == nil || volumes[found.Name] == nil {
			t.Fatalf("%s is in no volume", file)
		}
		return found, volumes[found.Name]
	}
	if len(volumes) != len(m.container.VolumeMounts) {
		t.Errorf("%d volumes, %d mounts", len(volumes), len(m.container.VolumeMounts))
	}
	for key, secret := range map[string]string{"keys_file": "ibsm", "api_users_file": "ibsm", "api_cert_file": "ibsm-tls",
		"api_key_file": "ibsm-tls"} {
		_, v := mounted(m.setting(key))
		if v.Secret == nil || v.Secret.SecretName != secret || v.Secret.DefaultMode == nil ||
			*v.Secret.DefaultMode != 0o400 {
			t.Errorf("%s %s is in %+v, want the Secret %s with mode 0400", key, m.setting(key), v.VolumeSource, secret)
		}
	}
	for file := range m.config.Data {
		at, v := mounted("/etc/opensm/" + file)
		if v.ConfigMap == nil || v.ConfigMap.Name != m.config.Name || !at.ReadOnly {
			t.Errorf("%s is in %+v", file, v.VolumeSource)
		}
	}
	if file := m.setting("partition_config_file"); m.config.Data[path.Base(file)] == "" || path.Dir(file) != "/etc/opensm" {
		t.Errorf("partition_config_file %s is not in the ConfigMap", file)
	}
	for _, file := range []string{m.setting("api_audit_file"), "/var/lib/ibsm/store", "/var/cache/opensm/x", "/var/log/x",
		"/run/ibsm/ibsm.sock", "/tmp/x", "/dev/infiniband/umad0"} {
		if at, v := mounted(file); at.ReadOnly || v.Secret != nil || v.ConfigMap != nil {
			t.Errorf("%s is in %s, which a manager cannot write", file, at.Name)
		}
	}
	if _, v := mounted("/var/lib/ibsm/store"); v.HostPath == nil || v.HostPath.Path != "/var/lib/ibsm" {
		t.Errorf("the state is in %+v, which does not outlive the pod", v.VolumeSource)
	}
}
