//! Trees of files made from lists of entries, as the lint vectors and fixtures write them.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Makes the tree of a case below `folder` and returns its root.
pub fn arrange(case: &Value, folder: &Path) -> PathBuf {
    if let Some(name) = case["parentFile"].as_str() {
        std::fs::write(folder.join(name), b"x").unwrap();
    }
    let root = folder.join(case["root"].as_str().unwrap_or("wiki"));
    put(&root, case["entries"].as_array().unwrap());
    root
}

/// Puts entries `{path, kind, text | base64 | target}` below `root`. The kind `absent` takes away
/// what is there.
pub fn put(root: &Path, entries: &[Value]) {
    for entry in entries {
        let relative = entry["path"].as_str().unwrap();
        let path = if relative == "." {
            root.to_owned()
        } else {
            root.join(relative)
        };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match entry["kind"].as_str().unwrap() {
            "absent" if path.is_dir() => std::fs::remove_dir_all(&path).unwrap(),
            "absent" => std::fs::remove_file(&path).unwrap(),
            "dir" => std::fs::create_dir_all(&path).unwrap(),
            "symlink" => {
                std::os::unix::fs::symlink(entry["target"].as_str().unwrap(), &path).unwrap();
            }
            "fifo" => {
                rustix::fs::mknodat(
                    rustix::fs::CWD,
                    &path,
                    rustix::fs::FileType::Fifo,
                    rustix::fs::Mode::from_raw_mode(0o600),
                    0,
                )
                .unwrap();
            }
            _ => {
                let bytes = match entry["base64"].as_str() {
                    Some(text) => base64(text),
                    None => entry["text"].as_str().unwrap().as_bytes().to_vec(),
                };
                std::fs::write(&path, bytes).unwrap();
            }
        }
    }
}

fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => u32::from(c - b'A'),
        b'a'..=b'z' => u32::from(c - b'a') + 26,
        b'0'..=b'9' => u32::from(c - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("no base64 digit: {c}"),
    };
    let digits: Vec<u32> = text.bytes().filter(|c| *c != b'=').map(value).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}
