package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"strings"
)

// wheel writes the wheel of one system. Its only command is the program itself, as openintentd: the published package openintent has the
// command openintent.
func (p packing) wheel(s system, program []byte) error {
	version, err := pythonVersion(p.version)
	if err != nil {
		return err
	}
	readme, err := p.source("deploy/wheel/README.md")
	if err != nil {
		return err
	}
	licence, err := p.source("LICENSE")
	if err != nil {
		return err
	}
	name := "openintentd-" + version
	info := name + ".dist-info/"
	// RECORD is the last, as the form of wheels recommends.
	files := []file{
		{name: name + ".data/scripts/" + s.program("openintentd"), content: program, executable: true},
		{name: info + "METADATA", content: []byte(fmt.Sprintf(metadata, version) + string(readme))},
		{name: info + "WHEEL", content: []byte(wheelForm(s))},
		{name: info + "licenses/LICENSE", content: licence},
	}
	files = append(files, file{name: info + "RECORD", content: record(files, info+"RECORD")})
	archive, err := p.zipped(files)
	if err != nil {
		return err
	}
	return p.write(name+"-py3-none-"+strings.Join(s.platforms, ".")+".whl", archive)
}

// metadata is what a package index shows. The README follows.
const metadata = `Metadata-Version: 2.4
Name: openintentd
Version: %s
Summary: The OpenIntent server and its command line: channels and messages between AI agents
Keywords: agents,messaging,mcp,openintent
License-Expression: Apache-2.0
License-File: LICENSE
Classifier: Environment :: Console
Classifier: Operating System :: MacOS
Classifier: Operating System :: Microsoft :: Windows
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Go
Requires-Python: >=3.8
Description-Content-Type: text/markdown

`

// wheelForm says what the wheel fits, one line for each tag.
func wheelForm(s system) string {
	text := "Wheel-Version: 1.0\nGenerator: openintent\nRoot-Is-Purelib: false\n"
	for _, platform := range s.platforms {
		text += "Tag: py3-none-" + platform + "\n"
	}
	return text
}

// record lists files with their digests and sizes, and itself with neither.
func record(files []file, itself string) []byte {
	var text strings.Builder
	for _, f := range files {
		digest := sha256.Sum256(f.content)
		_, _ = fmt.Fprintf(&text, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(digest[:]), len(f.content))
	}
	return []byte(text.String() + itself + ",,\n")
}

// zipped writes a zip in which each file's size and checksum stand before its content. Some installers read wheels as they come in, and
// need that.
func (p packing) zipped(files []file) ([]byte, error) {
	var archive bytes.Buffer
	writer := zip.NewWriter(&archive)
	for _, f := range files {
		var packed bytes.Buffer
		compressor, err := flate.NewWriter(&packed, p.level)
		if err != nil {
			return nil, err
		}
		if _, err := compressor.Write(f.content); err != nil {
			return nil, err
		}
		if err := compressor.Close(); err != nil {
			return nil, err
		}
		header := &zip.FileHeader{
			Name: f.name, Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(f.content),
			CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(len(f.content)),
		}
		header.SetMode(f.mode())
		header.SetModTime(p.made) //nolint:staticcheck // CreateRaw does not look at Modified
		writing, err := writer.CreateRaw(header)
		if err != nil {
			return nil, err
		}
		if _, err := writing.Write(packed.Bytes()); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}
