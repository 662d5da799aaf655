//! An OpenAI-compatible endpoint: one POST to `/chat/completions`, the answer as a stream of
//! events or as one document. Refusals that pass (429 and 5xx) are tried again, a little later each
//! time, within the deadline. Redirects are not followed: the key belongs to the address that the
//! user gave.

use std::io::{BufRead, BufReader, Read};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{MAX_ANSWER_BYTES, ModelError, Prompt};
use crate::config::Endpoint;
use crate::context::Context;

/// How often a request is made.
const ATTEMPTS: u32 = 4;
/// First wait between attempts; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// Events carry more than the text.
const MAX_STREAM_BYTES: u64 = 32 << 20;
/// How much of an error's body is shown.
const SHOWN_BYTES: u64 = 400;

pub(super) fn complete(
    endpoint: &Endpoint,
    prompt: &Prompt,
    timeout: Duration,
    ctx: &Context,
    piece: &mut dyn FnMut(&str),
) -> Result<String, ModelError> {
    let deadline = Instant::now() + timeout;
    let body = json!({
        "model": endpoint.model,
        "stream": true,
        "temperature": 0,
        "messages": [
            {"role": "system", "content": prompt.instructions},
            {"role": "user", "content": prompt.text},
        ],
    })
    .to_string();
    let mut wait = FIRST_WAIT;
    let mut attempt = 1;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ModelError::Timeout(timeout));
        }
        let (error, asked) = match once(endpoint, &body, left, ctx, piece) {
            Ok(answer) => return Ok(answer),
            Err(Refused::Later(error, asked)) => (error, asked),
            Err(Refused::Final(ModelError::Timeout(_))) => {
                return Err(ModelError::Timeout(timeout));
            }
            Err(Refused::Final(error)) => return Err(error),
        };
        let pause = asked.unwrap_or(wait).min(LONGEST_WAIT);
        if attempt == ATTEMPTS || Instant::now() + pause >= deadline {
            return Err(error);
        }
        tracing::info!(%error, attempt, "the model is asked again");
        let until = Instant::now() + pause;
        while Instant::now() < until {
            ctx.check().map_err(|_| ModelError::Aborted)?;
            std::thread::sleep(Duration::from_millis(20).min(until - Instant::now().min(until)));
        }
        wait *= 2;
        attempt += 1;
    }
}

enum Refused {
    /// Worth another attempt, after the time that the server asked for.
    Later(ModelError, Option<Duration>),
    Final(ModelError),
}

fn once(
    endpoint: &Endpoint,
    body: &str,
    left: Duration,
    ctx: &Context,
    piece: &mut dyn FnMut(&str),
) -> Result<String, Refused> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(left))
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .into();
    let url = format!("{}/chat/completions", endpoint.url.trim_end_matches('/'));
    let mut request = agent
        .post(&url)
        .header("content-type", "application/json")
        .header("accept", "text/event-stream, application/json");
    if let Some(key) = &endpoint.key {
        request = request.header("authorization", format!("Bearer {}", key.reveal()));
    }
    let response = request.send(body).map_err(|error| match error {
        ureq::Error::Timeout(_) => Refused::Final(ModelError::Timeout(left)),
        ureq::Error::Io(_) | ureq::Error::ConnectionFailed | ureq::Error::HostNotFound => {
            Refused::Later(
                ModelError::Transport(format!("{}: {error}", endpoint.url)),
                None,
            )
        }
        error => Refused::Final(ModelError::Transport(format!("{}: {error}", endpoint.url))),
    })?;
    let status = response.status().as_u16();
    let asked = response
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok()?.trim().parse().ok())
        .map(Duration::from_secs);
    let mut reader = response.into_body().into_reader();
    if status != 200 {
        let mut shown = Vec::new();
        let _ = Read::by_ref(&mut reader)
            .take(SHOWN_BYTES)
            .read_to_end(&mut shown);
        let error = ModelError::Status {
            status,
            body: String::from_utf8_lossy(&shown).into_owned(),
        };
        return Err(if status == 429 || status >= 500 {
            Refused::Later(error, asked)
        } else {
            Refused::Final(error)
        });
    }
    let reader = BufReader::new(reader.take(MAX_STREAM_BYTES));
    read(reader, left, ctx, piece).map_err(Refused::Final)
}

/// Reads events, or one document where the server does not stream.
fn read(
    mut reader: impl BufRead,
    left: Duration,
    ctx: &Context,
    piece: &mut dyn FnMut(&str),
) -> Result<String, ModelError> {
    let mut answer = String::new();
    let mut plain = String::new();
    let mut line = Vec::new();
    loop {
        ctx.check().map_err(|_| ModelError::Aborted)?;
        line.clear();
        let read = reader.read_until(b'\n', &mut line).map_err(|error| {
            // The client's own deadline comes as an error of the body.
            if error.kind() == std::io::ErrorKind::TimedOut || error.to_string().contains("timeout")
            {
                ModelError::Timeout(left)
            } else {
                ModelError::Transport(format!("the answer broke off: {error}"))
            }
        })?;
        if read == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if let Some(data) = text.strip_prefix("data:") {
            let data = data.trim();
            if data == "[DONE]" {
                return Ok(answer);
            }
            let event: Value = serde_json::from_str(data)
                .map_err(|error| ModelError::Transport(format!("an event is no JSON: {error}")))?;
            if let Some(error) = event.get("error") {
                return Err(ModelError::Transport(format!("the server failed: {error}")));
            }
            if let Some(text) = event["choices"][0]["delta"]["content"].as_str() {
                answer.push_str(text);
                piece(text);
            }
            ctx.progress("the model answers", answer.len() as u64, None);
        } else if answer.is_empty() {
            plain.push_str(text);
            plain.push('\n');
        }
        if answer.len() > MAX_ANSWER_BYTES || plain.len() > 4 * MAX_ANSWER_BYTES {
            return Err(ModelError::TooLong);
        }
    }
    if !answer.is_empty() {
        // A stream that ends without its last word was cut.
        return Err(ModelError::Transport("the answer broke off".to_owned()));
    }
    let document: Value = serde_json::from_str(plain.trim())
        .map_err(|_| ModelError::Transport("the answer is neither events nor JSON".to_owned()))?;
    Ok(document["choices"][0]["message"]["content"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;
    use crate::config::ModelKey;

    /// Serves these answers, one a connection, and gives the requests.
    fn serve(answers: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let served = std::thread::spawn(move || {
            let mut requests = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut head = String::new();
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    head.push_str(&line);
                    if line.trim().is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                head.push_str(&String::from_utf8(body).unwrap());
                requests.push(head);
                stream.write_all(answer.as_bytes()).unwrap();
            }
            requests
        });
        (format!("http://{address}/v1"), served)
    }

    fn reply(status: &str, kind: &str, body: &str) -> String {
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    }

    fn ask(url: String) -> Result<String, ModelError> {
        let endpoint = Endpoint {
            url,
            model: "small".to_owned(),
            key: Some(ModelKey::new("k3y".to_owned())),
        };
        let prompt = Prompt {
            instructions: "be brief".to_owned(),
            text: "why?".to_owned(),
        };
        complete(
            &endpoint,
            &prompt,
            Duration::from_secs(30),
            &Context::default(),
            &mut |_| {},
        )
    }

    const STREAM: &str = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"so \"}}]}\n\n: a comment\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"[1]\"}}]}\n\ndata: [DONE]\n\n";

    #[test]
    fn an_answer_is_read_from_a_stream_after_refusals() {
        let (url, served) = serve(vec![
            reply("429 Too Many Requests", "text/plain", "slow down"),
            reply("503 Unavailable", "text/plain", ""),
            reply("200 OK", "text/event-stream", STREAM),
        ]);
        assert_eq!(ask(url).unwrap(), "so [1]");
        let requests = served.join().unwrap();
        assert_eq!(requests.len(), 3);
        assert!(requests[2].contains("\"model\":\"small\"") && requests[2].contains("Bearer k3y"));
    }

    #[test]
    fn one_document_will_do() {
        let body = "{\"choices\":[{\"message\":{\"content\":\"yes\"}}]}";
        let (url, served) = serve(vec![reply("200 OK", "application/json", body)]);
        assert_eq!(ask(url).unwrap(), "yes");
        served.join().unwrap();
    }

    #[test]
    fn a_refusal_for_good_is_not_tried_again() {
        let (url, served) = serve(vec![reply("401 Unauthorized", "text/plain", "bad key")]);
        assert!(matches!(
            ask(url),
            Err(ModelError::Status { status: 401, .. })
        ));
        assert_eq!(served.join().unwrap().len(), 1);
    }

    #[test]
    fn redirects_are_refused_and_a_cut_stream_is_no_answer() {
        let moved = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let (url, served) = serve(vec![moved.to_owned()]);
        assert!(ask(url).is_err());
        served.join().unwrap();
        let cut = STREAM.replace("data: [DONE]\n\n", "");
        let (url, served) = serve(vec![reply("200 OK", "text/event-stream", &cut)]);
        assert!(matches!(ask(url), Err(ModelError::Transport(_))));
        served.join().unwrap();
    }
}
