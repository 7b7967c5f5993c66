// Package python tests that Python packages that others have published work, unmodified, against this server.
// drive.py uses the package `openintent` as its users do, and webhooks.py receives webhooks with the package
// `standardwebhooks`. scripts/python-requirements.txt pins both packages and their dependencies.
package python
