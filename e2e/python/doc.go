// Package python tests that the published Python package, unmodified, works against this server: drive.py does with it
// what its users do. The package and what it stands on are pinned in scripts/python-requirements.txt.
package python
