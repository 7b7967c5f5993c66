// Package python tests that what others have published in Python, unmodified, works against this server: drive.py does with
// the package `openintent` what its users do, and webhooks.py receives webhooks with the package `standardwebhooks`. They and
// what they stand on are pinned in scripts/python-requirements.txt.
package python
