//! Mermaid text as SVG. The crate that draws is young and passes on what the text says, links
//! and styles too; so its SVG is taken apart and written anew from a list of shapes, attributes
//! and colours. What it cannot draw, or would take long to, stays text.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mermaid_rs_renderer::{RenderOptions, Theme, render_strict};
use roxmltree::{Document, Node, NodeType, ParsingOptions};

/// Longer texts are no diagrams to look at, and take long to lay out.
const MAX_BYTES: usize = 16 << 10;
const MAX_LINES: usize = 300;

/// Colours that the drawing crate is told, and the variables of our style sheet in their place,
/// so that a diagram is dark where the page is.
const COLOURS: [(&str, &str); 8] = [
    ("#f0f1f2", "var(--node)"),
    ("#101112", "var(--text)"),
    ("#808182", "var(--line-strong)"),
    ("#707172", "var(--muted)"),
    ("#e0e1e2", "var(--node-2)"),
    ("#d0d1d2", "var(--node-3)"),
    ("#fafbfc", "var(--panel)"),
    ("#ffffff", "var(--page)"),
];

const SHAPES: [&str; 14] = [
    "svg", "g", "defs", "marker", "path", "rect", "circle", "ellipse", "line", "polyline",
    "polygon", "text", "tspan", "title",
];

/// Attributes that shapes keep, where their value is plain.
const ATTRIBUTES: [&str; 50] = [
    "cx",
    "cy",
    "d",
    "dominant-baseline",
    "dx",
    "dy",
    "fill",
    "fill-opacity",
    "font-size",
    "font-style",
    "font-weight",
    "height",
    "markerHeight",
    "markerUnits",
    "markerWidth",
    "opacity",
    "orient",
    "points",
    "r",
    "refX",
    "refY",
    "rx",
    "ry",
    "stroke",
    "stroke-dasharray",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
    "transform",
    "viewBox",
    "width",
    "x",
    "x1",
    "x2",
    "y",
    "y1",
    "y2",
    "textLength",
    "lengthAdjust",
    "alignment-baseline",
    "paint-order",
    "fill-rule",
    "clip-rule",
    "pathLength",
    "stroke-miterlimit",
    "letter-spacing",
    "writing-mode",
    "text-decoration",
];

/// Attributes that name another element of the diagram, as `url(#name)`.
const REFERENCES: [&str; 3] = ["marker-end", "marker-mid", "marker-start"];

/// The diagram as SVG that holds nothing but shapes and words; `serial` tells the diagrams of a
/// page apart.
///
/// # Errors
/// Why it is not drawn, for people.
pub(super) fn svg(text: &str, serial: usize) -> Result<String, String> {
    if text.len() > MAX_BYTES || text.lines().count() > MAX_LINES {
        return Err(format!(
            "it is longer than {MAX_LINES} lines or {MAX_BYTES} bytes"
        ));
    }
    // A fault of the crate is no fault of the page.
    let drawn = catch_unwind(AssertUnwindSafe(|| {
        let mut options = RenderOptions::modern();
        options.theme = theme();
        // The other way reads the fonts of this machine, and differs from machine to machine.
        options.layout.fast_text_metrics = true;
        render_strict(text, options)
    }));
    let drawn = match drawn {
        Ok(Ok(drawn)) => drawn,
        Ok(Err(cause)) => {
            let cause = cause.to_string();
            return Err(cause
                .lines()
                .next()
                .unwrap_or("it is not understood")
                .to_owned());
        }
        Err(_) => return Err("the program that draws failed".to_owned()),
    };
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: 200_000,
    };
    let document = Document::parse_with_options(&drawn, options)
        .map_err(|cause| format!("the drawing is malformed: {cause}"))?;
    let mut out = String::with_capacity(drawn.len());
    write_element(&mut out, document.root_element(), serial, 0);
    Ok(out)
}

fn theme() -> Theme {
    let of = |index: usize| COLOURS[index].0.to_owned();
    let mut theme = Theme::modern();
    "sans-serif".clone_into(&mut theme.font_family);
    theme.primary_color = of(0);
    theme.primary_text_color = of(1);
    theme.primary_border_color = of(2);
    theme.line_color = of(3);
    theme.secondary_color = of(4);
    theme.tertiary_color = of(5);
    theme.edge_label_background = of(7);
    theme.cluster_background = of(6);
    theme.cluster_border = of(2);
    theme.background = of(7);
    theme.sequence_actor_fill = of(0);
    theme.sequence_actor_border = of(2);
    theme.sequence_actor_line = of(3);
    theme.sequence_note_fill = of(5);
    theme.sequence_note_border = of(2);
    theme.sequence_activation_fill = of(4);
    theme.sequence_activation_border = of(2);
    theme.text_color = of(1);
    theme.pie_title_text_color = of(1);
    theme.pie_section_text_color = of(1);
    theme.pie_legend_text_color = of(1);
    theme.pie_stroke_color = of(2);
    theme.pie_outer_stroke_color = of(2);
    theme
}

/// Deeper than any drawing is.
const MAX_DEPTH: usize = 64;

fn write_element(out: &mut String, node: Node<'_, '_>, serial: usize, depth: usize) {
    let name = node.tag_name().name();
    let is_kept = SHAPES.contains(&name);
    // The shapes in a link stay, the link does not; what is no shape goes with all that is in it.
    if !is_kept && name != "a" || depth > MAX_DEPTH {
        return;
    }
    if is_kept {
        let _ = write!(out, "<{name}");
        if depth == 0 {
            out.push_str(" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-hidden=\"true\"");
        }
        for attribute in node.attributes() {
            write_attribute(out, attribute.name(), attribute.value(), serial);
        }
        out.push('>');
    }
    for child in node.children() {
        match child.node_type() {
            NodeType::Element => write_element(out, child, serial, depth + 1),
            NodeType::Text => escape(out, child.text().unwrap_or_default()),
            _ => {}
        }
    }
    if is_kept {
        let _ = write!(out, "</{name}>");
    }
}

fn write_attribute(out: &mut String, name: &str, value: &str, serial: usize) {
    let is_word = |text: &str| {
        let plain = |it: u8| it.is_ascii_alphanumeric() || it == b'-' || it == b'_';
        !text.is_empty() && text.bytes().all(plain)
    };
    if name == "style" {
        // A style sheet of one element: what of it is an attribute as well becomes one.
        for (name, value) in value.split(';').filter_map(|it| it.split_once(':')) {
            if name.trim() != "style" {
                write_attribute(out, name.trim(), value.trim(), serial);
            }
        }
        return;
    }
    if name == "id" && is_word(value) {
        let _ = write!(out, " id=\"d{serial}-{value}\"");
    } else if REFERENCES.contains(&name) {
        let inner = value
            .strip_prefix("url(#")
            .and_then(|it| it.strip_suffix(')'));
        if let Some(inner) = inner.filter(|it| is_word(it)) {
            let _ = write!(out, " {name}=\"url(#d{serial}-{inner})\"");
        }
    } else if ATTRIBUTES.contains(&name) && is_plain(value) {
        let lower = value.to_ascii_lowercase();
        let known = COLOURS.iter().find(|(told, _)| *told == lower);
        let _ = write!(out, " {name}=\"{}\"", known.map_or(value, |(_, ours)| ours));
    }
}

/// Numbers, colours, words and paths: nothing that could end the attribute or name a resource.
fn is_plain(value: &str) -> bool {
    let allowed = |it: u8| it.is_ascii_alphanumeric() || b" \t\n#%(),.+-_".contains(&it);
    value.bytes().all(allowed) && !value.to_ascii_lowercase().contains("url")
}

fn escape(out: &mut String, text: &str) {
    super::escape(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagram_is_drawn_in_the_colours_of_the_page() {
        let drawn = svg("flowchart LR\n  a[One] --> b[Two]\n", 3).unwrap();
        assert!(drawn.starts_with("<svg xmlns"), "{drawn}");
        assert!(drawn.contains("One") && drawn.contains("Two"));
        assert!(drawn.contains("var(--node)"), "{drawn}");
        assert!(drawn.contains("id=\"d3-"), "{drawn}");
    }

    #[test]
    fn nothing_but_shapes_and_words_is_left() {
        for text in [
            "flowchart LR\n a[\"<script>alert(1)</script>\"] --> b\n click a \"javascript:alert(1)\"\n",
            "flowchart LR\n a --> b\n style a fill:url(http://evil.example/x),stroke:red\n",
            "flowchart LR\n a[\"<img src=x onerror=alert(1)>\"] --> b\n click b href \"https://evil.example\"\n",
            "%%{init: {'themeVariables': {'primaryColor': '\\\"><script>alert(1)</script>'}}}%%\nflowchart LR\n a-->b\n",
            "%%{init: {'themeCSS': '*{background:url(//evil.example)}'}}%%\nflowchart LR\n a-->b\n",
            "sequenceDiagram\n A->>B: </text><script>alert(1)</script>\n",
        ] {
            let Ok(drawn) = svg(text, 0) else { continue };
            let document = Document::parse(&drawn).unwrap();
            for node in document.descendants().filter(Node::is_element) {
                let name = node.tag_name().name();
                assert!(SHAPES.contains(&name), "{name} in {drawn}");
                for attribute in node.attributes() {
                    let (key, value) = (attribute.name(), attribute.value());
                    let of_ours = ["id", "role", "aria-hidden"].contains(&key);
                    let known = ATTRIBUTES.contains(&key) || REFERENCES.contains(&key);
                    assert!(of_ours || known, "{key} in {drawn}");
                    assert!(!value.contains("//"), "{value} in {drawn}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_drawn_says_why() {
        assert!(svg("nonsense of no kind\n", 0).is_err());
        assert!(
            svg(&"a --> b\n".repeat(400), 0)
                .unwrap_err()
                .contains("300 lines")
        );
    }
}
