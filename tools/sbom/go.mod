module openintent/tools/sbom

go 1.26.0
