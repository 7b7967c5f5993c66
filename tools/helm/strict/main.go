// Program strict reads manifests of Kubernetes and fails if one has a field that Kubernetes does not know. It knows the kinds that
// the chart makes; those of others, such as ServiceMonitor, it only names.
package main

import (
	"bytes"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Fprintf(os.Stderr, "strict: %s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	checked := 0
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var header struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(document, &header); err != nil {
			return err
		}
		var as any
		switch header.APIVersion + " " + header.Kind {
		case "apps/v1 Deployment":
			as = &appsv1.Deployment{}
		case "v1 Service":
			as = &corev1.Service{}
		case "v1 ServiceAccount":
			as = &corev1.ServiceAccount{}
		case "v1 ConfigMap":
			as = &corev1.ConfigMap{}
		case "policy/v1 PodDisruptionBudget":
			as = &policyv1.PodDisruptionBudget{}
		case "monitoring.coreos.com/v1 ServiceMonitor":
			continue
		default:
			return fmt.Errorf("nobody told this program about %s %s", header.APIVersion, header.Kind)
		}
		if err := yaml.UnmarshalStrict(document, as); err != nil {
			return fmt.Errorf("%s: %w", header.Kind, err)
		}
		checked++
	}
	if checked == 0 {
		return fmt.Errorf("it holds nothing to check")
	}
	fmt.Printf("%d manifests have only fields that Kubernetes knows\n", checked)
	return nil
}
