package packages

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// manifest is what the tests look at in the chart's output.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Template struct {
			Spec struct {
				Grace      int           `yaml:"terminationGracePeriodSeconds"`
				Security   podSecurity   `yaml:"securityContext"`
				Links      *bool         `yaml:"enableServiceLinks"`
				Token      *bool         `yaml:"automountServiceAccountToken"`
				Containers []container   `yaml:"containers"`
				Volumes    []interface{} `yaml:"volumes"`
			}
		}
		MaxUnavailable any `yaml:"maxUnavailable"`
		Ports          []struct {
			TargetPort string `yaml:"targetPort"`
		}
	}
	Data map[string]string
}

type podSecurity struct {
	NonRoot bool                  `yaml:"runAsNonRoot"`
	User    int                   `yaml:"runAsUser"`
	Seccomp struct{ Type string } `yaml:"seccompProfile"`
}

type container struct {
	Image string
	Args  []string
	Env   []struct {
		Name, Value string
		ValueFrom   struct {
			Secret struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	Ports []struct {
		Name string
		Port int `yaml:"containerPort"`
	}
	Startup   probe `yaml:"startupProbe"`
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Lifecycle struct {
		PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
	}
	Security struct {
		Escalation   *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnly     bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities struct{ Drop []string }
	} `yaml:"securityContext"`
	Resources struct{ Requests, Limits map[string]string }
}

type probe struct {
	HTTP struct{ Path, Port string } `yaml:"httpGet"`
}

// rendered returns what the chart makes of the values of a file in deploy/helm/rendered; `make deploy-check` compares that with
// what helm makes of them.
func rendered(t *testing.T, name string) map[string]manifest {
	t.Helper()
	all := make(map[string]manifest)
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(read(t, "deploy/helm/rendered/"+name+".yaml"))))
	for {
		var next manifest
		err := decoder.Decode(&next)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all[next.Kind+" "+next.Metadata.Name] = next
	}
}

func TestTheChartRunsTheProgramAsItIsMeantToBeRun(t *testing.T) {
	for name, seconds := range map[string]struct{ pause, stop int }{"default": {5, 30}, "full": {10, 60}} {
		deployment, found := rendered(t, name)["Deployment openintent"]
		require.True(t, found)
		pod := deployment.Spec.Template.Spec
		require.Len(t, pod.Containers, 1)
		program := pod.Containers[0]
		require.Equal(t, []string{"serve"}, program.Args)
		require.Equal(t, probe{}.at("/healthz"), program.Startup)
		require.Equal(t, probe{}.at("/healthz"), program.Liveness)
		require.Equal(t, probe{}.at("/readyz"), program.Readiness)
		require.Equal(t, seconds.pause, program.Lifecycle.PreStop.Sleep.Seconds)
		require.Greater(t, pod.Grace, seconds.pause+seconds.stop, "Kubernetes kills only after the program's own stop timeout")
		require.Equal(t, podSecurity{true, 65532, struct{ Type string }{"RuntimeDefault"}}, pod.Security)
		require.False(t, *program.Security.Escalation)
		require.True(t, program.Security.ReadOnly)
		require.Equal(t, []string{"ALL"}, program.Security.Capabilities.Drop)
		require.False(t, *pod.Links, "Kubernetes would set variables of its own that begin with OPENINTENT_")
		require.False(t, *pod.Token)
		require.NotEmpty(t, program.Resources.Requests)

		known, ports := settings(), make(map[string]int)
		for _, port := range program.Ports {
			ports[port.Name] = port.Port
		}
		require.Equal(t, map[string]int{"http": 8000, "grpc": 50051, "admin": 8001}, ports)
		for _, variable := range program.Env {
			require.Contains(t, known, variable.Name)
			switch variable.Name {
			case "OPENINTENT_DATABASE_URL", "OPENINTENT_API_KEYS", "OPENINTENT_OIDC_CLIENT_SECRET":
				require.Empty(t, variable.Value)
				require.NotEmpty(t, variable.ValueFrom.Secret.Name, "secrets come from Secrets")
				require.NotEmpty(t, variable.ValueFrom.Secret.Key)
			case "OPENINTENT_STOP_TIMEOUT":
				timeout, err := time.ParseDuration(variable.Value)
				require.NoError(t, err)
				require.Equal(t, time.Duration(seconds.stop)*time.Second, timeout)
			}
		}
	}
}

func (probe) at(path string) (p probe) {
	p.HTTP.Path, p.HTTP.Port = path, "admin"
	return p
}

func TestTheChartLeadsNobodyToTheAdminPortByDefault(t *testing.T) {
	byDefault, full := rendered(t, "default"), rendered(t, "full")
	for _, port := range byDefault["Service openintent"].Spec.Ports {
		require.NotEqual(t, "admin", port.TargetPort)
	}
	for _, name := range []string{"Service openintent-admin", "ServiceMonitor openintent"} {
		require.NotContains(t, byDefault, name)
		require.Contains(t, full, name)
	}
	require.Equal(t, 1, byDefault["PodDisruptionBudget openintent"].Spec.MaxUnavailable)
	require.Equal(t, "default-access: closed\nmax-streams: 2000\nretention: 48h\nsearch: false\n", full["ConfigMap openintent"].Data["settings.yaml"])
}

func TestTheChartHasTheProgramsVersion(t *testing.T) {
	chart := read(t, "deploy/helm/openintent/Chart.yaml")
	version := []string{programVersion(t)}
	require.Equal(t, version, values(chart, "version: "))
	require.Equal(t, version, values(chart, "appVersion: "))
}

// The chart refuses settings that the server does not have, and those that it sets itself.
func TestTheChartKnowsEverySetting(t *testing.T) {
	own := []string{
		"settings-file", "http-addr", "grpc-addr", "admin-addr", "stop-timeout", "database-url", "api-keys", "api-keys-file", "tls-cert", "tls-key",
		"oidc-client-secret",
	}
	var want []string
	for _, flag := range settings() {
		if !slices.Contains(own, flag) {
			want = append(want, flag)
		}
	}
	slices.Sort(want)
	path := filepath.Join(root, "deploy/helm/openintent/values.schema.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var schema struct {
		Properties struct {
			Settings struct {
				PropertyNames struct{ Enum []string } `json:"propertyNames"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	found := schema.Properties.Settings.PropertyNames.Enum
	if os.Getenv("OPENINTENT_TEST_UPDATE") != "" && !slices.Equal(want, found) {
		list := func(names []string) string { return "\"" + strings.Join(names, "\",\n          \"") + "\"" }
		updated := strings.Replace(string(text), list(found), list(want), 1)
		require.NotEqual(t, string(text), updated, "the file has another form")
		require.NoError(t, os.WriteFile(path, []byte(updated), 0o644))
		return
	}
	require.Equal(t, want, found, "write it anew with: OPENINTENT_TEST_UPDATE=1 go test ./e2e/packages -run %s", t.Name())
}
