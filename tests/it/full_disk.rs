//! A disk without space: a code that says so, nothing half done, and all is well once there is
//! space again. The file size limit of the shell stands in for the disk, since any test may set it.

use std::path::Path;
use std::process::{Command, Output};

fn llmwiki(dir: &Path, blocks: Option<u32>, arguments: &str) -> Output {
    let limit = blocks.map_or(String::new(), |blocks| format!("ulimit -f {blocks}; "));
    Command::new("sh")
        .arg("-c")
        .arg(format!(
            "{limit}exec {} {arguments}",
            env!("CARGO_BIN_EXE_llmwiki")
        ))
        .current_dir(dir)
        .env_remove("LLMWIKI_ROOT")
        .output()
        .unwrap()
}

#[test]
fn a_full_disk_is_named_and_costs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut stream = String::new();
    for number in 0..200 {
        let content: String = (0..400)
            .map(|word| format!("w{} ", number * 1000 + word))
            .collect();
        let line = serde_json::json!({"op": "add_source", "name": "n", "content": content});
        stream.push_str(&format!("{line}\n"));
    }
    std::fs::write(dir.path().join("in.jsonl"), stream).unwrap();
    std::fs::write(dir.path().join("a.txt"), "first\n").unwrap();
    assert!(
        llmwiki(dir.path(), None, "add-source a.txt")
            .status
            .success()
    );

    // 512-byte blocks: the store cannot grow beyond 160 KiB.
    let failed = llmwiki(dir.path(), Some(320), "import --jsonl in.jsonl --json");
    let answer: serde_json::Value = serde_json::from_slice(&failed.stdout).unwrap();
    assert_eq!(answer["error"]["code"], "STORE_FULL", "{answer}");
    assert_eq!(failed.status.code(), Some(3));

    let listed = llmwiki(dir.path(), None, "list-sources --json");
    assert!(listed.status.success());
    let again = llmwiki(dir.path(), None, "import --jsonl in.jsonl --json");
    let answer: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    let known = |key: &str| answer[key].as_u64().unwrap();
    assert_eq!(
        known("sourcesAdded") + known("sourcesKnown"),
        200,
        "{answer}"
    );
    let verified = llmwiki(dir.path(), None, "verify");
    assert!(
        verified.status.success(),
        "{}",
        String::from_utf8_lossy(&verified.stdout)
    );
}
