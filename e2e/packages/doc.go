// Package packages checks what the server is installed by: the Dockerfile, the chart, the unit of systemd, the packages for pip, npm and
// Linux. It reads them as they stand and compares them with the program, and it installs the wheel and the npm packages of this system.
// `make deploy-check` and `make package-check` run the tools that read them.
package packages
