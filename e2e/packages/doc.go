// Package packages checks what the server is installed by: the Dockerfile, the chart, the unit of systemd. It reads them as they
// stand and compares them with the program. `make deploy-check` runs the tools that read them.
package packages
