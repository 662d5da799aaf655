//! What comes out of wiki text, above all what does not.

use super::*;
use crate::page::{PageNames, references, resolve};

fn render(text: &str) -> String {
    let id = PageId::parse("guides/here").unwrap();
    let mut names = PageNames::default();
    for (name, title) in [
        ("guides/here", "Here"),
        ("guides/next", "Next Steps"),
        ("top", "Top"),
    ] {
        names.insert(PageId::parse(name).unwrap(), title);
    }
    let links: Vec<_> = references(text, 1)
        .links
        .into_iter()
        .map(|link| {
            let leads = resolve(&id, &link, &names);
            (link, leads)
        })
        .collect();
    let source = SourceId::parse(&"a".repeat(64)).unwrap();
    let metadata = SourceMetadata {
        id: source.to_string(),
        name: "notes \"1\".md".to_owned(),
        media_type: "text/markdown".to_owned(),
        byte_count: 1,
        captured_at: String::new(),
        origin: None,
    };
    let around = Surroundings {
        page: Some(&id),
        links: &links,
        sources: &[(source, Some(metadata))],
        first_line: 1,
        ..Surroundings::default()
    };
    article(text, &around).html
}

#[track_caller]
fn check(text: &str, parts: &[&str]) {
    let html = render(text);
    for part in parts {
        assert!(html.contains(part), "{part} is not in {html}");
    }
}

#[test]
fn links_lead_where_the_engine_says() {
    check("[a](next.md)", &["<a href=\"/page/guides/next\">a</a>"]);
    check(
        "[a](next.md#Part)",
        &["<a href=\"/page/guides/next#Part\">"],
    );
    check("[a](#part)", &["<a href=\"#part\">"]);
    check(
        "[[Next Steps|on]]",
        &["<a href=\"/page/guides/next\">on</a>"],
    );
    check("[[top#A Part]]", &["<a href=\"/page/top#a-part\">"]);
    check(
        "| x |\n|-|\n| [[top\\|t]] |\n",
        &["<a href=\"/page/top\">t</a>"],
    );
    check(
        "[a](gone.md)",
        &["<span class=\"missing\" title=\"There is no page guides/gone\">a</span>"],
    );
    check("[a](../../etc/passwd)", &["<span class=\"dead\""]);
    check(
        "<https://x.example/?a=1&b=2>",
        &["href=\"https://x.example/?a=1&amp;b=2\""],
    );
    check(
        "<a href=\"next.md\">html</a>",
        &["<a href=\"/page/guides/next\">html</a>"],
    );
}

#[test]
fn citations_open_their_lines() {
    let id = "a".repeat(64);
    check(
        &format!("[1](llmwiki://source/{id}#L3-L5)"),
        &[&format!(
            "<a class=\"cite\" href=\"/source/{id}?L=3-5#L3\" \
             title=\"notes &quot;1&quot;.md, lines 3 to 5\">1</a>"
        )],
    );
    check(
        &format!("[1](llmwiki://source/{})", "b".repeat(64)),
        &["missing cite"],
    );
    check(&format!("[1](llmwiki://source/{id}#L9-L1)"), &["dead cite"]);
}

#[test]
fn blocks_of_every_kind_are_written() {
    check(
        "a[^1]\n\n[^1]: note\n",
        &["id=\"w-ref-1-1\"", "<li id=\"w-note-1\"><p>note</p>"],
    );
    check(
        "> [!WARNING]\n> hot\n",
        &["class=\"alert warning\"", "<p>hot</p>"],
    );
    check(
        "- [x] done\n- [ ] open\n",
        &["disabled checked", "aria-label=\"to do\""],
    );
    check(
        "| a | b |\n|-|-:|\n| 1 | 2 |\n",
        &["<th>a</th>", "<td class=\"right\">2</td>"],
    );
    check("a ~~b~~ **c**", &["<del>b</del>", "<strong>c</strong>"]);
    check(
        "$a_1 * b_2 * c$",
        &["<span class=\"math\">$a_1 * b_2 * c$</span>"],
    );
    check(
        "## A `b`\n\n## A b\n",
        &["<h2 id=\"a-b\">A <code>b</code>", "<h2 id=\"a-b-1\">"],
    );
    check(
        "```mermaid\nflowchart LR\n a --> b\n```\n",
        &["class=\"diagram\"", "<svg "],
    );
    check("```mermaid\nnonsense\n```\n", &["mermaid, not drawn"]);
}

#[cfg(feature = "lang-core")]
#[test]
fn code_is_coloured_by_the_word_behind_its_fence() {
    check(
        "```rs\nfn a() {}\n```\n",
        &["<span class=\"hl-keyword\">fn</span>"],
    );
    check(
        "```Python title=x\ndef a(): pass\n```\n",
        &["<span class=\"hl-keyword\">def</span>"],
    );
    check("```nonsense\n<b>\n```\n", &["<code>&lt;b&gt;\n</code>"]);
}

#[test]
fn raw_html_keeps_elements_and_loses_what_is_in_their_tags() {
    check(
        "a <kbd onclick=x class=y>b</kbd><br/>",
        &["<kbd>b</kbd><br>"],
    );
    check(
        "<details style=\"x\">\n<summary>More</summary>\n\ntext\n\n</details>\n\nafter\n",
        &[
            "<details>",
            "<summary>More</summary>",
            "<p>text</p>",
            "</details>",
            "<p>after</p>",
        ],
    );
    check(
        "<div align=center>x &nbsp; & y</div>\n",
        &["x &nbsp; &amp; y"],
    );
    check("<!-- hidden --> shown", &["shown"]);
    assert!(!render("<!-- hidden --> shown").contains("hidden"));
    check("a <b>b\n\nc", &["<b>b</b></p>"]);
    check(
        "> <details>\n\nc </details> d",
        &["</details></blockquote>", "<p>c  d</p>"],
    );
}

#[test]
fn nothing_of_a_text_becomes_script_style_or_a_request() {
    let texts = [
        "<script>alert(1)</script>",
        "a <script src=//evil.example/x></script>",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)><animate onbegin=alert(1)></svg>",
        "<style>*{background:url(//evil.example)}</style>",
        "<iframe src=javascript:alert(1)>",
        "<a href=\"javascript:alert(1)\">x</a>",
        "<a href=\"java\tscript:alert(1)\">x</a>",
        "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](java&Tab;script:alert(1))",
        "[x](\u{1}javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:x)",
        "![x](javascript:alert(1))",
        "![x](https://evil.example/track.png)",
        "![x\" onerror=\"alert(1)](y.png)",
        "[x](<https://a.example/\"onmouseover=\"alert(1)>)",
        "<b onmouseover=alert(1)>x",
        "<a id=\"x\" onfocus=alert(1) autofocus href=top>",
        "```x\" onload=\"alert(1)\n```\n",
        "# <img src=x onerror=alert(1)>\n",
        "| <script>alert(1)</script> |\n|-|\n",
        "[^<script>]\n\n[^<script>]: x\n",
        "$<script>alert(1)</script>$",
        "[[<script>alert(1)</script>]]",
        "![[javascript:alert(1)]]",
        "<math><mtext></p><style><a title=\"</style><img src onerror=alert(1)>\">",
        "</article></main></body><script>",
        "<form action=//evil.example><input name=x><button>",
        "<meta http-equiv=refresh content=0;url=//evil.example>",
        "<base href=//evil.example>",
        "<link rel=stylesheet href=//evil.example>",
        "<a href=\"x",
    ];
    for text in texts {
        let html = render(text);
        audit(&html, text);
    }
}

/// Reads the output as a browser would and refuses every element and attribute that could do
/// more than show text.
#[track_caller]
fn audit(html: &str, text: &str) {
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end = rest
            .find('>')
            .unwrap_or_else(|| panic!("{text:?}: a torn tag in {html}"));
        let tag = &rest[..end];
        let name = tag.trim_start_matches('/').split(' ').next().unwrap();
        let allowed = [
            "p",
            "a",
            "span",
            "code",
            "pre",
            "div",
            "figure",
            "b",
            "sup",
            "section",
            "ol",
            "li",
            "h1",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "blockquote",
            "details",
            "math",
        ];
        assert!(allowed.contains(&name), "{text:?}: <{tag}> in {html}");
        let mut attributes = tag.strip_prefix(name).unwrap_or("").trim();
        while let Some((key, after)) = attributes.split_once("=\"") {
            let (value, after) = after.split_once('"').unwrap();
            let known = [
                "href",
                "class",
                "id",
                "title",
                "rel",
                "tabindex",
                "role",
                "aria-label",
            ];
            assert!(known.contains(&key), "{text:?}: {key} in {html}");
            if key == "href" {
                let leads = ["/page/", "/source/", "#", "https://", "http://", "mailto:"];
                assert!(
                    leads.iter().any(|it| value.starts_with(it)),
                    "{text:?}: {value}"
                );
            }
            attributes = after.trim();
        }
        assert!(attributes.is_empty(), "{text:?}: {attributes:?} in {html}");
        rest = &rest[end + 1..];
    }
}

#[test]
fn blocks_in_wanted_lines_are_marked_and_the_first_can_be_jumped_to() {
    let text = "# T\n\none\n\n## S\n\ntwo\n\nthree\n";
    let around = Surroundings {
        first_line: 7,
        lit: Some((11, 13)),
        title: Some("t"),
        ..Surroundings::default()
    };
    let html = article(text, &around).html;
    let heading = "<h2 id=\"s\" class=\"lit\"><span id=\"w-lit\"></span>S";
    assert!(html.contains(heading), "{html}");
    assert!(html.contains("<p class=\"lit\">two</p>"), "{html}");
    assert!(
        html.contains("<p>one</p>") && html.contains("<p>three</p>"),
        "{html}"
    );
    assert!(!html.contains("<h1"), "the title stands above: {html}");
    let from_title = Surroundings {
        lit: Some((7, 9)),
        ..around
    };
    let html = article(text, &from_title).html;
    assert_eq!(
        html.matches("id=\"w-lit\"").count(),
        1,
        "it can be jumped to: {html}"
    );
}
