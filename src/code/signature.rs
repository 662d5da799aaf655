//! The signature of a code base, and what paths say about their files.

use sha2::{Digest, Sha256};

use crate::id::ContentHash;

/// SHA-256 over the sorted pairs of path and content hash.
#[derive(Debug, Default)]
pub struct SignatureBuilder(Sha256);

impl SignatureBuilder {
    /// Adds a file. Files come in the byte order of their paths.
    pub fn add(&mut self, path: &[u8], content: &ContentHash) {
        self.0.update((path.len() as u64).to_le_bytes());
        self.0.update(path);
        self.0.update(content.as_bytes());
    }

    /// The signature.
    pub fn finish(self) -> ContentHash {
        ContentHash::from_bytes(self.0.finalize().into())
    }
}

/// Whether a path says that its file is a test, an example or a benchmark: about the thing, and
/// not the thing.
pub fn is_test_path(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut parts = lower.split('/').rev();
    let name = parts.next().unwrap_or_default();
    let folder = parts.any(|part| {
        matches!(
            part,
            "test"
                | "tests"
                | "testing"
                | "spec"
                | "specs"
                | "__tests__"
                | "testdata"
                | "fixtures"
                | "example"
                | "examples"
                | "bench"
                | "benches"
                | "benchmarks"
                | "fuzz"
                | "e2e"
        ) || part.ends_with("-tests")
            || part.starts_with("tests-")
    });
    let stem = name.split('.').next().unwrap_or(name);
    folder
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || matches!(stem, "test" | "tests" | "conftest")
        || name.contains(".test.")
        || name.contains(".spec.")
}

/// Whether a path says that its file was made from source that is elsewhere: the output of a
/// build, or declarations of types beside what they declare.
pub fn is_made_from_source(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    name.ends_with(".d.ts")
        || parts.any(|part| matches!(part, "dist" | "build" | "out" | "bundles" | "docs" | "doc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_folder_or_name() {
        for path in [
            "tests/a.rs",
            "src/foo/tests.rs",
            "pkg/x_test.go",
            "web/a.spec.ts",
            "test_a.py",
            "examples/hello.rs",
        ] {
            assert!(is_test_path(path), "{path}");
        }
        for path in [
            "src/testing_ground.rs",
            "src/attest.rs",
            "src/contest/a.rs",
            "latest/a.c",
        ] {
            assert!(!is_test_path(path), "{path}");
        }
    }

    #[test]
    fn the_output_of_builds_is_known_by_folder_or_name() {
        assert!(is_made_from_source("dist/esm/a.js") && is_made_from_source("src/a.d.ts"));
        assert!(!is_made_from_source("src/builder/distance.ts"));
    }

    #[test]
    fn the_signature_knows_path_and_content() {
        let of = |files: &[(&str, &str)]| {
            let mut builder = SignatureBuilder::default();
            for (path, text) in files {
                builder.add(path.as_bytes(), &ContentHash::of(text.as_bytes()));
            }
            builder.finish()
        };
        let base = of(&[("a", "x"), ("b", "y")]);
        assert_eq!(base, of(&[("a", "x"), ("b", "y")]));
        assert_ne!(base, of(&[("a", "y"), ("b", "x")]));
        assert_ne!(base, of(&[("a", "x")]));
        assert_ne!(of(&[("ab", "")]), of(&[("a", "b")]));
    }
}
