//! A question and its answer. The form works by itself; with the script the answer comes while it
//! is written.

use maud::html;

use crate::ask::AskReport;
use crate::web::answer::answer;
use crate::web::layout::{Part, View};

/// The form, and what was answered.
pub(in crate::web) fn view(question: &str, report: Option<&AskReport>) -> View {
    let main = html! {
        h1 { "Ask" }
        p.lead { "Answers cite the lines they rest on, checked against the files as they are." }
        form.ask method="post" action="/ask" {
            label for="w-question" { "Question" }
            textarea #w-question name="question" rows="3" maxlength="2000" required
                placeholder="How does a page get written?" { (question) }
            p { button type="submit" { "Ask" } " " span.faint { "Ctrl+Enter" } }
        }
        div #w-answer aria-live="polite" {
            @if let Some(report) = report { (answer(report)) }
        }
    };
    View::new(Part::Ask, "Ask", main)
}
