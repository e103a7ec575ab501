package deploy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"intenthint/app"
	"intenthint/config"
	"intenthint/deploy/deploytest"
)

// composition is what compose.yaml uses of the form of Docker Compose. A field that is
// not here is an error.
type composition struct {
	Name     string                    `yaml:"name"`
	Consumer any                       `yaml:"x-consumer"`
	Services map[string]composeService `yaml:"services"`
	Volumes  map[string]any            `yaml:"volumes"`
}

type composeService struct {
	Image       string            `yaml:"image"`
	Build       map[string]string `yaml:"build"`
	Command     []string          `yaml:"command"`
	EnvFile     []string          `yaml:"env_file"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	Restart     string            `yaml:"restart"`
	StopGrace   string            `yaml:"stop_grace_period"`
	ReadOnly    bool              `yaml:"read_only"`
	CapDrop     []string          `yaml:"cap_drop"`
	SecurityOpt []string          `yaml:"security_opt"`
	HealthCheck *struct {
		Test     []string `yaml:"test"`
		Interval string   `yaml:"interval"`
		Timeout  string   `yaml:"timeout"`
		Retries  int      `yaml:"retries"`
	} `yaml:"healthcheck"`
	DependsOn map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
}

func compose(t *testing.T) composition {
	t.Helper()
	text, err := os.ReadFile("compose.yaml")
	require.NoError(t, err)
	var c composition
	require.NoError(t, yaml.UnmarshalWithOptions(text, &c, yaml.Strict()))
	return c
}

// pinned checks that an image has a whole version, or a digest.
func pinned(t *testing.T, image string) {
	t.Helper()
	require.Regexp(t, `^[a-z0-9./-]+(:\d+\.\d+\.\d+(-[a-z0-9.]+)?(@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})$`, image)
}

// madeFiles makes what is not in the repository: certificates for the host nats, and the
// environment of the server.
func madeFiles(t *testing.T) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("needs openssl")
	}
	dir = t.TempDir()
	out, err := exec.CommandContext(t.Context(), "./certificates.sh", filepath.Join(dir, "pki"), "nats").CombinedOutput()
	require.NoError(t, err, string(out))
	require.FileExists(t, "server.env.example")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "server.env"), nil, 0o600))
	return dir
}

// mounted copies the files of a service to where they stand in its container, below a
// directory, and returns it.
func mounted(t *testing.T, made string, s composeService, volumes map[string]any) string {
	t.Helper()
	root := t.TempDir()
	for _, volume := range s.Volumes {
		from, rest, ok := strings.Cut(volume, ":")
		require.True(t, ok, volume)
		if !strings.HasPrefix(from, ".") {
			require.Contains(t, volumes, from)
			require.NoError(t, os.MkdirAll(filepath.Join(root, rest), 0o700))
			continue
		}
		to, readOnly := strings.CutSuffix(rest, ":ro")
		require.True(t, readOnly, volume)
		content, err := os.ReadFile(from)
		if errors.Is(err, os.ErrNotExist) {
			content, err = os.ReadFile(filepath.Join(made, from))
		}
		require.NoError(t, err, "a mounted file that is neither in the repository nor made as it is documented")
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, to)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, to), content, 0o600)) //nolint:gosec // a test's own directory
	}
	return root
}

func TestCompose(t *testing.T) {
	made, c := madeFiles(t), compose(t)
	require.Len(t, c.Services, 4)
	for name, s := range c.Services {
		pinned(t, s.Image)
		for dependency, d := range s.DependsOn {
			require.Contains(t, c.Services, dependency, name)
			if d.Condition == "service_healthy" {
				require.NotNil(t, c.Services[dependency].HealthCheck)
			}
		}
		for _, file := range s.EnvFile {
			require.FileExists(t, filepath.Join(made, file))
		}
	}

	nats := c.Services["nats"]
	require.Equal(t, "nats:"+strings.TrimPrefix(moduleVersion(t, "github.com/nats-io/nats-server/v2"), "v")+"-alpine", nats.Image, "the version that the tests use")
	root := mounted(t, made, nats, c.Volumes)
	for name, path := range nats.Environment {
		t.Setenv(name, filepath.Join(root, path))
	}
	for _, user := range deploytest.Users {
		hash, err := bcrypt.GenerateFromPassword([]byte(deploytest.Password(user)), bcrypt.MinCost)
		require.NoError(t, err)
		t.Setenv(strings.ToUpper(user)+"_PASSWORD", string(hash))
	}
	require.Equal(t, "-c", nats.Command[0])
	opts, err := server.ProcessConfigFile(filepath.Join(root, nats.Command[1]))
	require.NoError(t, err)
	require.Equal(t, 4222, opts.Port)
	require.Equal(t, tls.RequireAndVerifyClientCert, opts.TLSConfig.ClientAuth)
	require.DirExists(t, opts.StoreDir, "the volume")
	require.Contains(t, nats.HealthCheck.Test, "http://127.0.0.1:8222/healthz")
	require.Equal(t, 8222, opts.HTTPPort)

	for name, user := range map[string]string{"provision": "operator", "consumer-1": "consumer", "consumer-2": "consumer"} {
		s := c.Services[name]
		require.Equal(t, "intenthint:"+programVersion(t), s.Image, name)
		require.Equal(t, map[string]string{"context": "..", "dockerfile": "deploy/Containerfile"}, s.Build)
		require.True(t, s.ReadOnly)
		require.Equal(t, []string{"ALL"}, s.CapDrop)
		env := maps.Clone(s.Environment)
		env["HINT_NATS_URL"] = strings.Replace(env["HINT_NATS_URL"], "${"+strings.ToUpper(user)+"_SECRET:?}", "secret", 1)
		if name != "provision" {
			require.Equal(t, "${HINT_HTTP_TOKEN:?}", env["HINT_HTTP_TOKEN"])
			env["HINT_HTTP_TOKEN"] = "secret"
		}
		settled(t, env, user, mounted(t, made, s, c.Volumes))
	}
	require.NotEqual(t, c.Services["consumer-1"].Volumes[3], c.Services["consumer-2"].Volumes[3], "data directories are apart")
	require.Equal(t, "service_completed_successfully", c.Services["consumer-2"].DependsOn["provision"].Condition)
	require.Equal(t, []string{"stream", "apply", "--yes"}, c.Services["provision"].Command)
}

// settled checks that an environment holds known settings with values that are right, for a
// user of accounts.conf. Files are below root.
func settled(t *testing.T, env map[string]string, user, root string) {
	t.Helper()
	known := config.Variables(app.Objects()...)
	for name, value := range env {
		require.True(t, slices.ContainsFunc(known, func(v config.Variable) bool { return v.Name == name }), name)
		require.NotContains(t, value, "$", name)
		if strings.HasPrefix(value, "/") {
			env[name] = filepath.Join(root, value)
		}
	}
	env["HINT_DATA_DIR"] = t.TempDir()
	cfg, warnings, err := config.LoadFrom(env, app.Objects()...)
	require.NoError(t, err)
	require.Empty(t, warnings)
	u, err := url.Parse(cfg.Bus.URLs[0])
	require.NoError(t, err)
	require.Equal(t, "tls", u.Scheme)
	require.Equal(t, user, u.User.Username())
	require.Equal(t, "_INBOX_"+user, cfg.Bus.InboxPrefix)
	require.NotEmpty(t, cfg.Bus.Cert)
	require.Equal(t, config.StoreKV, cfg.Store.Kind, "processes on several hosts")
}

func moduleVersion(t *testing.T, module string) string {
	t.Helper()
	mod, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	return regexp.MustCompile(`(?m)^\t` + regexp.QuoteMeta(module) + ` (\S+)`).FindStringSubmatch(string(mod))[1]
}

// manifest is what intenthint.yaml uses of the forms of Kubernetes. A field that is not here
// is an error.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name        string            `yaml:"name"`
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"metadata"`
	Spec struct {
		Replicas     int   `yaml:"replicas"`
		BackoffLimit int   `yaml:"backoffLimit"`
		MinAvailable int   `yaml:"minAvailable"`
		Selector     any   `yaml:"selector"`
		Ports        []any `yaml:"ports"`
		Template     struct {
			Metadata struct {
				Labels map[string]string `yaml:"labels"`
			} `yaml:"metadata"`
			Spec podSpec `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type podSpec struct {
	Restart      string          `yaml:"restartPolicy"`
	Grace        int             `yaml:"terminationGracePeriodSeconds"`
	Token        *bool           `yaml:"automountServiceAccountToken"`
	Security     map[string]any  `yaml:"securityContext"`
	Spread       []any           `yaml:"topologySpreadConstraints"`
	Containers   []containerSpec `yaml:"containers"`
	VolumesOfPod []struct {
		Name   string `yaml:"name"`
		Secret *struct {
			Name  string              `yaml:"secretName"`
			Mode  int                 `yaml:"defaultMode"`
			Items []map[string]string `yaml:"items"`
		} `yaml:"secret"`
		EmptyDir map[string]any `yaml:"emptyDir"`
	} `yaml:"volumes"`
}

type containerSpec struct {
	Name  string   `yaml:"name"`
	Image string   `yaml:"image"`
	Args  []string `yaml:"args"`
	Env   []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
		From  *struct {
			Secret map[string]string `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	} `yaml:"env"`
	Ports     []any          `yaml:"ports"`
	Liveness  *probe         `yaml:"livenessProbe"`
	Readiness *probe         `yaml:"readinessProbe"`
	Resources any            `yaml:"resources"`
	Security  map[string]any `yaml:"securityContext"`
	Mounts    []struct {
		Name     string `yaml:"name"`
		Path     string `yaml:"mountPath"`
		ReadOnly bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	Get struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
	Period  int `yaml:"periodSeconds"`
	Timeout int `yaml:"timeoutSeconds"`
	Failure int `yaml:"failureThreshold"`
}

// secretKeys are the keys of each secret, as the commands in the comment make it.
func secretKeys(text string) map[string][]string {
	out := map[string][]string{}
	text = strings.ReplaceAll(text, "\\\n#", "")
	for _, m := range regexp.MustCompile(`create secret generic (\S+) (.+)`).FindAllStringSubmatch(text, -1) {
		for _, key := range regexp.MustCompile(`--from-(?:literal|file)=([\w.]+)=`).FindAllStringSubmatch(m[2], -1) {
			out[m[1]] = append(out[m[1]], key[1])
		}
	}
	return out
}

func TestKubernetes(t *testing.T) {
	made := madeFiles(t)
	text, err := os.ReadFile("kubernetes/intenthint.yaml")
	require.NoError(t, err)
	secrets := secretKeys(string(text))
	require.Len(t, secrets, 2)
	found := map[string]manifest{}
	for documents := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()); ; {
		var m manifest
		err := documents.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		found[m.Kind] = m
	}
	require.ElementsMatch(t, []string{"Job", "Deployment", "PodDisruptionBudget", "Service"}, slices.Collect(maps.Keys(found)))

	for kind, user := range map[string]string{"Job": "operator", "Deployment": "consumer"} {
		pod := found[kind].Spec.Template.Spec
		require.Equal(t, found[kind].Metadata.Labels, found[kind].Spec.Template.Metadata.Labels)
		require.Equal(t, true, pod.Security["runAsNonRoot"])
		require.False(t, *pod.Token)
		c := pod.Containers[0]
		pinned(t, c.Image)
		require.Equal(t, "intenthint:"+programVersion(t), c.Image)
		require.Equal(t, true, c.Security["readOnlyRootFilesystem"])
		env, root := map[string]string{}, t.TempDir()
		for _, e := range c.Env {
			require.NotContains(t, env, e.Name)
			if env[e.Name] = e.Value; e.From != nil {
				secret := e.From.Secret
				require.Equal(t, "intenthint-"+user, secret["name"])
				require.Contains(t, secrets[secret["name"]], secret["key"])
				env[e.Name] = map[string]string{"url": "tls://" + user + ":secret@nats:4222", "token": "secret"}[secret["key"]]
			}
		}
		mounts := map[string]string{}
		for _, m := range c.Mounts {
			mounts[m.Name] = m.Path
		}
		for _, v := range pod.VolumesOfPod {
			require.Contains(t, mounts, v.Name)
			if v.Secret == nil {
				require.Equal(t, "/data", mounts[v.Name], "HINT_DATA_DIR of the image")
				continue
			}
			require.Equal(t, "intenthint-"+user, v.Secret.Name)
			require.Equal(t, 0o440, v.Secret.Mode)
			for key, file := range map[string]string{"ca.pem": "ca.pem", "tls.pem": user + ".pem", "tls.key": user + ".key"} {
				require.Contains(t, secrets[v.Secret.Name], key)
				content, err := os.ReadFile(filepath.Join(made, "pki", file))
				require.NoError(t, err)
				require.NoError(t, os.MkdirAll(filepath.Join(root, mounts[v.Name]), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(root, mounts[v.Name], key), content, 0o600)) //nolint:gosec // a test's own directory
			}
		}
		settled(t, env, user, root)
	}

	deployment := found["Deployment"].Spec
	require.GreaterOrEqual(t, deployment.Replicas, 2)
	require.GreaterOrEqual(t, deployment.Template.Spec.Grace, 70, "the longest request and ten more seconds")
	c := deployment.Template.Spec.Containers[0]
	require.Equal(t, "/readyz", c.Readiness.Get.Path)
	require.Equal(t, "/healthz", c.Liveness.Get.Path)
	require.GreaterOrEqual(t, c.Liveness.Period*c.Liveness.Failure, 300, "a minute of recovery is no reason to start again")
	labels := map[string]any{}
	for name, value := range deployment.Template.Metadata.Labels {
		labels[name] = value
	}
	require.Equal(t, map[string]any{"matchLabels": labels}, deployment.Selector)
	require.Equal(t, map[string]any{"matchLabels": labels}, found["PodDisruptionBudget"].Spec.Selector)
	require.Equal(t, labels, found["Service"].Spec.Selector)
}
