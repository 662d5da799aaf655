//! A program as a model: the prompt on its standard input, the answer on its standard output. It
//! runs in a process group of its own, which is ended whole: at the deadline, on cancellation, and
//! after it left, so that nothing it started stays behind.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::{MAX_ANSWER_BYTES, ModelError, Prompt};
use crate::context::Context;

/// How often the program is looked after.
const STEP: Duration = Duration::from_millis(10);
/// How long is waited for the end of its output once it has ended.
const DRAIN: Duration = Duration::from_secs(2);
/// How much of standard error is kept.
const STDERR_BYTES: usize = 2000;

/// A process group that is killed when this goes.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // Negative numbers and zero are other things to `kill`; a child always has a positive one.
        if let Some(id) = i32::try_from(self.0.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

pub(super) fn complete(
    argv: &[String],
    prompt: &Prompt,
    timeout: Duration,
    ctx: &Context,
) -> Result<String, ModelError> {
    let (program, arguments) = argv.split_first().ok_or_else(|| ModelError::NotStarted {
        program: "the command".to_owned(),
        why: "it is empty".to_owned(),
    })?;
    let begun = Instant::now();
    let child = Command::new(program)
        .args(arguments)
        // Agents look around where they are started: there is nothing to see here.
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| ModelError::NotStarted {
            program: program.clone(),
            why: error.to_string(),
        })?;
    let mut group = Group(child);
    if let Some(mut stdin) = group.0.stdin.take() {
        let text = format!("{}\n\n{}", prompt.instructions, prompt.text);
        // A program may end without reading its input; that is its business.
        std::thread::spawn(move || {
            let _ = stdin.write_all(text.as_bytes());
        });
    }
    let answer = group
        .0
        .stdout
        .take()
        .map(|out| read(out, MAX_ANSWER_BYTES + 1));
    let errors = group.0.stderr.take().map(|out| read(out, STDERR_BYTES));
    let mut output: Option<Vec<u8>> = None;
    let status = loop {
        if ctx.check().is_err() {
            return Err(ModelError::Aborted);
        }
        if begun.elapsed() >= timeout {
            return Err(ModelError::Timeout(timeout));
        }
        if output.is_none()
            && let Some(bytes) = answer.as_ref().and_then(|answer| answer.try_recv().ok())
        {
            if bytes.len() > MAX_ANSWER_BYTES {
                return Err(ModelError::TooLong);
            }
            output = Some(bytes);
        }
        match group.0.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => std::thread::sleep(STEP),
            Err(error) => {
                return Err(ModelError::NotStarted {
                    program: program.clone(),
                    why: error.to_string(),
                });
            }
        }
    };
    // What it left behind may hold the pipes open.
    drop(group);
    let rest = |receiver: Option<Receiver<Vec<u8>>>| {
        receiver
            .and_then(|receiver| receiver.recv_timeout(DRAIN).ok())
            .unwrap_or_default()
    };
    let output = match output {
        Some(output) => output,
        None => rest(answer),
    };
    if !status.success() {
        return Err(ModelError::Failed {
            status: status.to_string(),
            stderr: String::from_utf8_lossy(&rest(errors)).into_owned(),
        });
    }
    if output.len() > MAX_ANSWER_BYTES {
        return Err(ModelError::TooLong);
    }
    Ok(String::from_utf8_lossy(&output).into_owned())
}

/// Reads up to `limit` bytes on a thread, then lets the rest go by.
fn read(mut from: impl Read + Send + 'static, limit: usize) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = Read::by_ref(&mut from)
            .take(limit as u64)
            .read_to_end(&mut bytes);
        let _ = sender.send(bytes);
        let _ = std::io::copy(&mut from, &mut std::io::sink());
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, timeout: Duration) -> Result<String, ModelError> {
        let argv = ["sh", "-c", script].map(str::to_owned);
        let prompt = Prompt {
            instructions: "be brief".to_owned(),
            text: "why?".to_owned(),
        };
        complete(&argv, &prompt, timeout, &Context::default())
    }

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn the_prompt_goes_in_and_the_answer_comes_out() {
        assert_eq!(run("cat", LONG).unwrap(), "be brief\n\nwhy?");
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let error = run("echo no key >&2; exit 3", LONG)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("exit status: 3") && error.contains("no key"),
            "{error}"
        );
        let argv = ["/nowhere/at-all".to_owned()];
        let prompt = Prompt {
            instructions: String::new(),
            text: String::new(),
        };
        assert!(matches!(
            complete(&argv, &prompt, LONG, &Context::default()),
            Err(ModelError::NotStarted { .. })
        ));
    }

    #[test]
    fn the_deadline_ends_the_whole_group() {
        let begun = Instant::now();
        let ended = run("sleep 600 & sleep 600", Duration::from_millis(200));
        assert!(matches!(ended, Err(ModelError::Timeout(_))));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn endless_output_is_stopped() {
        assert!(matches!(run("yes", LONG), Err(ModelError::TooLong)));
    }

    #[test]
    fn a_child_that_keeps_the_pipe_open_does_not_hold_us() {
        let begun = Instant::now();
        assert_eq!(run("sleep 600 & echo done", LONG).unwrap(), "done\n");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
