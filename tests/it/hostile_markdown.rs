//! Markdown made to hurt: each text is far beyond what a quadratic parser or a recursive one
//! would finish with, so that finishing at all is the proof.

use llmwiki::page::{references, sections, sections_classic};

const PIECES: usize = 50_000;

fn check(name: &str, text: &str, links: usize) {
    let found = references(text, 1).links.len();
    assert_eq!(found, links, "{name}");
    for cut in [sections(text, 1), sections_classic(text, 1)] {
        assert!(cut.len() <= PIECES, "{name}");
    }
}

#[test]
fn a_million_links_take_linear_time() {
    check("links", &"[x](a.md) ".repeat(1_000_000), 1_000_000);
    check("wikilinks", &"[[a|b]] ".repeat(PIECES), PIECES);
    check("embeds", &"![[a]] ".repeat(PIECES), PIECES);
    check(
        "references",
        &format!("[r]: a.md\n\n{}", "[r][r]".repeat(1_000)),
        1_000,
    );
    check(
        "rows",
        &format!("|a|\n|-|\n{}", "|[[b\\|c]]|\n".repeat(PIECES)),
        PIECES,
    );
    check(
        "anchors",
        &format!("<div>\n{}", "<a href=b.md>\n".repeat(PIECES)),
        PIECES,
    );
}

#[test]
fn unfinished_and_nested_pieces_take_linear_time() {
    let deep =
        |open: &str, close: &str| format!("{}a{}", open.repeat(PIECES), close.repeat(PIECES));
    check("brackets", &deep("[", "]"), 1);
    check("double brackets", &deep("[ [[", "]]"), 1);
    check("images", &deep("![", "](b)"), 0);
    check("images over links", &deep("![[a](b) ", "](c)"), 0);
    check("quotes", &deep("> ", ""), 0);
    check("lists", &deep("- ", ""), 0);
    for piece in [
        "[",
        "]",
        "[[a ",
        "[[a| ",
        "![[a ",
        "[a](",
        "[a](<b",
        "[a][b",
        "(",
        "<",
        "<a ",
        "<a href=\"",
        "<!-- ",
        "<script>",
        "a <![CDATA[",
        "a <?",
        "*a **a ",
        "~~a ~a ",
        "`a ``a ",
        "\\[",
        "&amp;",
        "|",
        "[^1]",
        "[x]: ",
        "\n",
        "\n=\n",
        "# ",
    ] {
        check(piece, &piece.repeat(PIECES), 0);
        check(piece, &format!("<div>\n{}", piece.repeat(PIECES)), 0);
    }
}
