package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// packed packs a program of a few bytes for every system, and returns the packages by their names.
func packed(t *testing.T, date string) map[string][]byte {
	t.Helper()
	folder := t.TempDir()
	arguments := []string{"-version", "0.3.0-dev", "-date", date, "-sources", "../..", "-out", folder}
	for _, target := range targets() {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, []byte("the program for "+target), 0o600); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, target+"="+path)
	}
	if err := run(arguments); err != nil {
		t.Fatal(err)
	}
	found, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	packages := make(map[string][]byte)
	for _, entry := range found {
		if packages[entry.Name()], err = os.ReadFile(filepath.Join(folder, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return packages
}

func TestThereIsAWheelAndAnNpmPackageForEachSystem(t *testing.T) {
	want := []string{
		"openintent-server-0.3.0-dev.tgz",
		"openintent-server-darwin-arm64-0.3.0-dev.tgz",
		"openintent-server-darwin-x64-0.3.0-dev.tgz",
		"openintent-server-linux-arm64-0.3.0-dev.tgz",
		"openintent-server-linux-x64-0.3.0-dev.tgz",
		"openintent-server-win32-arm64-0.3.0-dev.tgz",
		"openintent-server-win32-x64-0.3.0-dev.tgz",
		"openintentd-0.3.0.dev0-py3-none-macosx_12_0_arm64.whl",
		"openintentd-0.3.0.dev0-py3-none-macosx_12_0_x86_64.whl",
		"openintentd-0.3.0.dev0-py3-none-manylinux_2_17_aarch64.musllinux_1_1_aarch64.whl",
		"openintentd-0.3.0.dev0-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl",
		"openintentd-0.3.0.dev0-py3-none-win_amd64.whl",
		"openintentd-0.3.0.dev0-py3-none-win_arm64.whl",
	}
	var got []string
	for name := range packed(t, "") {
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("the packages are\n%s", strings.Join(got, "\n"))
	}
}

func TestTheSameProgramsGiveTheSameBytes(t *testing.T) {
	one, another := packed(t, "2026-11-30T07:00:00Z"), packed(t, "2026-11-30T08:00:00+01:00")
	other := packed(t, "2026-12-01T00:00:00Z")
	for name, content := range one {
		if !bytes.Equal(content, another[name]) {
			t.Errorf("%s differs, though the moment is the same", name)
		}
		if bytes.Equal(content, other[name]) {
			t.Errorf("%s does not have the time that it was given", name)
		}
	}
}

func TestAWheelRecordsWhatItHolds(t *testing.T) {
	for name, content := range packed(t, "") {
		if !strings.HasSuffix(name, ".whl") {
			continue
		}
		archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		var recorded, wheel, program string
		var lines []string
		for _, f := range archive.File {
			if f.Flags&0x8 != 0 {
				t.Errorf("%s: the size of %s stands behind its content", name, f.Name)
			}
			text := read(t, f)
			switch {
			case strings.HasSuffix(f.Name, ".dist-info/RECORD"):
				recorded = text
				lines = append(lines, f.Name+",,")
				continue
			case strings.HasSuffix(f.Name, ".dist-info/WHEEL"):
				wheel = text
			case strings.Contains(f.Name, ".data/scripts/"):
				program = f.Name
				if f.Mode() != 0o755 {
					t.Errorf("%s: the program has the mode %s", name, f.Mode())
				}
			}
			digest := sha256.Sum256([]byte(text))
			lines = append(lines, fmt.Sprintf("%s,sha256=%s,%d", f.Name, base64.RawURLEncoding.EncodeToString(digest[:]), len(text)))
		}
		if recorded != strings.Join(lines, "\n")+"\n" {
			t.Errorf("%s records\n%sand holds\n%s", name, recorded, strings.Join(lines, "\n"))
		}
		if strings.HasSuffix(program, ".exe") != strings.Contains(name, "-win_") {
			t.Errorf("%s holds %s", name, program)
		}
		tags := regexp.MustCompile(`(?m)^Tag: py3-none-(.*)$`).FindAllStringSubmatch(wheel, -1)
		var platforms []string
		for _, tag := range tags {
			platforms = append(platforms, tag[1])
		}
		if !strings.HasSuffix(name, "-py3-none-"+strings.Join(platforms, ".")+".whl") {
			t.Errorf("%s has the tags %s", name, platforms)
		}
	}
}

func read(t *testing.T, f *zip.File) string {
	t.Helper()
	opened, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(opened)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// unpacked returns the files of an npm package, and which of them can be run.
func unpacked(t *testing.T, content []byte) (files map[string]string, executable []string) {
	t.Helper()
	decompressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	files = make(map[string]string)
	reader := tar.NewReader(decompressed)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			return files, executable
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(header.Name, "package/")
		files[name] = string(text)
		if header.Mode == 0o755 {
			executable = append(executable, name)
		}
	}
}

// A package that named a script would run it when it is installed, and many refuse that.
func TestNpmRunsNothingAndChoosesTheProgram(t *testing.T) {
	packages := packed(t, "")
	var commands manifest
	files, executable := unpacked(t, packages["openintent-server-0.3.0-dev.tgz"])
	if err := json.Unmarshal([]byte(files["package.json"]), &commands); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(executable, []string{"bin/openintent.js"}) || commands.Bin["openintent"] != executable[0] || commands.Bin["openintentd"] != executable[0] {
		t.Errorf("the commands are %v, and %v can be run", commands.Bin, executable)
	}
	if len(commands.Optional) != len(systems) {
		t.Errorf("the package wants %v", commands.Optional)
	}
	for name, version := range commands.Optional {
		if version != commands.Version {
			t.Errorf("the package wants %s in version %s", name, version)
		}
		files, executable := unpacked(t, packages[strings.NewReplacer("@", "", "/", "-").Replace(name)+"-"+version+".tgz"])
		var program manifest
		if err := json.Unmarshal([]byte(files["package.json"]), &program); err != nil {
			t.Fatal(err)
		}
		if program.Name != name || program.Version != version || name != npmName+"-"+program.OS[0]+"-"+program.CPU[0] {
			t.Errorf("%s is %+v", name, program)
		}
		if len(executable) != 1 || strings.HasSuffix(executable[0], ".exe") != (program.OS[0] == "win32") {
			t.Errorf("of %s, %v can be run", name, executable)
		}
	}
	for name, content := range packages {
		if strings.HasSuffix(name, ".tgz") {
			if files, _ := unpacked(t, content); strings.Contains(files["package.json"], "scripts") || files["LICENSE"] == "" || files["README.md"] == "" {
				t.Errorf("%s has a script, or lacks a licence or a README", name)
			}
		}
	}
}

func TestVersionsOfPython(t *testing.T) {
	for version, want := range map[string]string{
		"0.3.0": "0.3.0", "0.3.0-dev": "0.3.0.dev0", "0.3.0-rc.1": "0.3.0rc1", "1.20.3-beta.12": "1.20.3b12", "0.3.0-alpha": "0.3.0a0",
	} {
		if got, err := pythonVersion(version); got != want || err != nil {
			t.Errorf("%s is %q (%v)", version, got, err)
		}
	}
	for _, version := range []string{"", "1.2", "v1.2.3", "1.2.3-dirty", "1.2.3+4"} {
		if got, err := pythonVersion(version); err == nil {
			t.Errorf("%q became %q", version, got)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	for want, arguments := range map[string][]string{
		"at least one":      {"-version", "0.3.0", "-out", t.TempDir()},
		"there are linux/":  {"-version", "0.3.0", "-out", t.TempDir(), "plan9/amd64=x"},
		"-date must be as":  {"-version", "0.3.0", "-out", t.TempDir(), "-date", "today", "linux/amd64=x"},
		"no such file":      {"-version", "0.3.0", "-out", t.TempDir(), "linux/amd64=" + filepath.Join(t.TempDir(), "none")},
		"a version is as 0": {"-version", "3", "-sources", "../..", "-out", t.TempDir(), "linux/amd64=main.go"},
	} {
		if err := run(arguments); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", arguments, err)
		}
	}
}
