package main

import "testing"

func TestAnnotationsAreLeftOut(t *testing.T) {
	const full = `import "buf/validate/validate.proto";
import "google/rpc/status.proto";
// An import "google/api/annotations.proto"; in a comment stays.
service S {
  rpc M(A) returns (B) {
    option (google.api.http) = {post: "/v1/{a}; [b]" body: "*"};
  }
}
message A {
  oneof scope {
    option (buf.validate.oneof).required = true;
    string a = 1 [(google.api.field_behavior) = REQUIRED];
  }
  double b = 2 [deprecated = true, (buf.validate.field).double = {in: [1, 2] gt: 0}];
}
`
	const want = "\nimport \"google/rpc/status.proto\";\n" +
		"// An import \"google/api/annotations.proto\"; in a comment stays.\n" +
		"service S {\n  rpc M(A) returns (B) {\n    \n  }\n}\nmessage A {\n  oneof scope {\n    \n    string a = 1 ;\n  }\n" +
		"  double b = 2 [deprecated = true];\n}\n"
	if got := plain(full); got != want {
		t.Errorf("got %s", got)
	}
}
