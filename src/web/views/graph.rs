//! The pages, the sources and the links as a drawing, and as a table for who cannot see it. More
//! than can be looked at is drawn by folders.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use crate::context::Context;
use crate::error::Result;
use crate::id::SourceId;
use crate::web::graph::{bounds, layout, readable};
use crate::web::layout::{Part, View, counted, grouped};
use crate::web::urls;
use crate::wiki::{GraphPage, LinkGraph, Wiki};

/// So many nodes are drawn at most.
const MOST_NODES: usize = 2000;
/// So many of them have their names written beside them.
const NAMED: usize = 80;
/// So many rows the table has.
const MOST_ROWS: usize = 500;

/// What is asked.
#[derive(Debug, Default, serde::Deserialize)]
pub(in crate::web) struct Asked {
    #[serde(rename = "in")]
    folder: Option<String>,
    around: Option<String>,
    sources: Option<String>,
}

/// One node of the drawing.
struct Node {
    name: String,
    url: String,
    kind: &'static str,
    /// How many things it stands for.
    weight: usize,
}

#[derive(Default)]
struct Drawing {
    nodes: Vec<Node>,
    edges: BTreeSet<(usize, usize)>,
}

pub(in crate::web) fn view(wiki: &Wiki, ctx: &Context, asked: &Asked) -> Result<View> {
    let graph = wiki.link_graph(ctx)?;
    let pages = &graph.pages;
    let folder = asked
        .folder
        .as_deref()
        .unwrap_or_default()
        .trim_matches('/');
    let around = asked.around.as_deref().filter(|it| !it.is_empty());
    let with_sources = asked.sources.is_some();
    let mut chosen = chosen(pages, folder, around);
    let in_all = chosen.len();
    let by_folder = in_all > MOST_NODES;
    let mut drawing = if by_folder {
        let drawing = folders(pages, &chosen, folder);
        (drawing.nodes.len() > 1).then_some(drawing)
    } else {
        None
    };
    let is_cut = by_folder && drawing.is_none();
    if is_cut {
        let links = linked(pages);
        chosen.sort_by_key(|&at| (usize::MAX - pages[at].links.len() - links[at], at));
        chosen.truncate(MOST_NODES);
        chosen.sort_unstable();
    }
    let drawing = drawing
        .take()
        .unwrap_or_else(|| of_pages(&graph, &chosen, with_sources));
    let main = html! {
        h1 { "Graph" }
        p.lead {
            (counted(in_all as u64, "page"))
            @if let Some(id) = around { " around " a href=(urls::page(id)) { (id) } }
            @else if !folder.is_empty() { " in " (folder) "/" }
            ". "
            @if is_cut { "The " (grouped(MOST_NODES as u64)) " with most links are drawn." }
            @else if by_folder { "Too many to look at: each circle is a folder." }
        }
        form.filter action="/graph" role="search" {
            label for="w-in" { "Folder" } " "
            input #w-in name="in" value=(folder) placeholder="guides" size="18";
            " " label { input type="checkbox" name="sources" value="1" checked[with_sources]; " with sources" }
            " " button type="submit" { "Show" }
            @if around.is_some() || !folder.is_empty() { " " a href="/graph" { "All pages" } }
        }
        @if drawing.nodes.is_empty() {
            p.faint { "There is nothing to draw yet." }
        } @else {
            (drawn(&drawing))
            (table(pages, &chosen))
        }
    };
    Ok(View::new(Part::Graph, "Graph", main))
}

/// The pages that are shown: all, those of a folder, or those around one page.
fn chosen(pages: &[GraphPage], folder: &str, around: Option<&str>) -> Vec<usize> {
    let Some(id) = around else {
        let prefix = format!("{folder}/");
        let is_in = |page: &GraphPage| folder.is_empty() || page.id.starts_with(&prefix);
        return (0..pages.len()).filter(|&at| is_in(&pages[at])).collect();
    };
    let mut near: BTreeSet<usize> = (0..pages.len()).filter(|&at| pages[at].id == id).collect();
    for _ in 0..2 {
        let mut more = near.clone();
        for (at, page) in pages.iter().enumerate() {
            if near.contains(&at) {
                more.extend(&page.links);
            } else if page.links.iter().any(|to| near.contains(to)) {
                more.insert(at);
            }
        }
        near = more;
    }
    near.into_iter().collect()
}

/// How many pages link to each.
fn linked(pages: &[GraphPage]) -> Vec<usize> {
    let mut counts = vec![0; pages.len()];
    for to in pages.iter().flat_map(|page| &page.links) {
        counts[*to] += 1;
    }
    counts
}

fn of_pages(graph: &LinkGraph, chosen: &[usize], with_sources: bool) -> Drawing {
    let pages = &graph.pages;
    let places: BTreeMap<usize, usize> = chosen
        .iter()
        .enumerate()
        .map(|(node, &at)| (at, node))
        .collect();
    let mut drawing = Drawing::default();
    for &at in chosen {
        drawing.nodes.push(Node {
            name: pages[at].title.clone(),
            url: urls::page(&pages[at].id),
            kind: "page",
            weight: 1,
        });
    }
    for (&at, &node) in &places {
        let shown = pages[at].links.iter().filter_map(|to| places.get(to));
        drawing.edges.extend(shown.map(|&to| (node, to)));
    }
    if with_sources {
        let mut known: BTreeMap<SourceId, usize> = BTreeMap::new();
        for (&at, &node) in &places {
            for &id in &pages[at].sources {
                let next = drawing.nodes.len();
                if !known.contains_key(&id) && next >= MOST_NODES {
                    continue;
                }
                let to = *known.entry(id).or_insert(next);
                if to == next {
                    drawing.nodes.push(Node {
                        name: graph
                            .sources
                            .get(&id)
                            .cloned()
                            .unwrap_or_else(|| id.to_string()),
                        url: urls::source(&id.to_string(), None),
                        kind: "source",
                        weight: 1,
                    });
                }
                drawing.edges.insert((node, to));
            }
        }
    }
    drawing
}

/// The folders right below one, each for all pages in it.
fn folders(pages: &[GraphPage], chosen: &[usize], folder: &str) -> Drawing {
    let depth = if folder.is_empty() {
        0
    } else {
        folder.len() + 1
    };
    let of = |at: usize| {
        let below = pages[at].id.get(depth..).unwrap_or_default();
        let end = below.find('/').unwrap_or(0);
        pages[at].id[..depth + end].trim_end_matches('/').to_owned()
    };
    let mut names: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for &at in chosen {
        let next = names.len();
        names.entry(of(at)).or_insert((next, 0)).1 += 1;
    }
    let mut nodes: Vec<(usize, Node)> = names
        .iter()
        .map(|(name, &(place, weight))| {
            let shown = if name.is_empty() { "pages" } else { name };
            let node = Node {
                name: format!("{shown}/ ({weight})"),
                url: format!("/graph?in={}", urls::value(name)),
                kind: "folder",
                weight,
            };
            (place, node)
        })
        .collect();
    nodes.sort_by_key(|(place, _)| *place);
    let mut edges = BTreeSet::new();
    for &at in chosen {
        let from = names[&of(at)].0;
        for &to in &pages[at].links {
            if let Some(&(to, _)) = names.get(&of(to))
                && to != from
            {
                edges.insert((from, to));
            }
        }
    }
    Drawing {
        nodes: nodes.into_iter().map(|(_, node)| node).collect(),
        edges,
    }
}

fn drawn(drawing: &Drawing) -> Markup {
    let edges: Vec<(usize, usize)> = drawing.edges.iter().copied().collect();
    let mut points = layout(drawing.nodes.len(), &edges);
    let has_folders = drawing.nodes.iter().any(|node| node.kind == "folder");
    // Folders are large, and many nodes have no room for their names otherwise.
    let spread = match drawing.nodes.len() {
        _ if has_folders => 2.5,
        0..100 => 1.0,
        _ => 1.8,
    };
    for point in &mut points {
        *point = (point.0 * spread, point.1 * spread);
    }
    let mut degrees = vec![0_usize; drawing.nodes.len()];
    for &(a, b) in &edges {
        degrees[a] += 1;
        degrees[b] += 1;
    }
    let mut by_degree: Vec<usize> = (0..drawing.nodes.len()).collect();
    by_degree.sort_by_key(|&at| (usize::MAX - degrees[at] - drawing.nodes[at].weight, at));
    let (left, top, width, height) = bounds(&points);
    let most = drawing
        .nodes
        .iter()
        .map(|node| node.weight)
        .max()
        .unwrap_or(1) as f32;
    let radius = |at: usize| {
        let size =
            (degrees[at] as f32).sqrt().min(9.0) + drawing.nodes[at].weight as f32 / most * 6.0;
        3.0 + size * 1.2
    };
    // About as large on the screen whatever the drawing's size is.
    let letters = (width / 80.0).max(11.0);
    let wide = |name: &str| {
        let one = |letter: char| if letter.is_ascii() { 0.55 } else { 1.0 };
        name.chars().map(one).sum::<f32>() * letters
    };
    let places: Vec<((f32, f32), f32)> = by_degree
        .iter()
        .map(|&at| {
            let above = (points[at].0, points[at].1 - radius(at) - 4.0);
            (above, wide(&short(&drawing.nodes[at].name)))
        })
        .collect();
    let is_free = readable(&places, letters * 1.2);
    let named = by_degree.into_iter().zip(is_free).filter(|(_, free)| *free);
    let named: BTreeSet<usize> = named.map(|(at, _)| at).take(NAMED).collect();
    let whole = format!("{left:.0} {top:.0} {width:.0} {height:.0}");
    html! {
        div.graph {
            svg viewBox=(whole) aria-hidden="true" preserveAspectRatio="xMidYMid meet" {
                g.edges {
                    @for &(a, b) in &edges {
                        line data-a=(a) data-b=(b)
                            x1=(format!("{:.1}", points[a].0)) y1=(format!("{:.1}", points[a].1))
                            x2=(format!("{:.1}", points[b].0)) y2=(format!("{:.1}", points[b].1)) {}
                    }
                }
                @for (at, node) in drawing.nodes.iter().enumerate() {
                    a class={ "node " (node.kind) } href=(node.url) tabindex="-1" data-n=(at) {
                        title { (node.name) }
                        circle cx=(format!("{:.1}", points[at].0)) cy=(format!("{:.1}", points[at].1))
                            r=(format!("{:.1}", radius(at))) {}
                        @if named.contains(&at) {
                            text font-size=(format!("{letters:.1}")) x=(format!("{:.1}", points[at].0))
                                y=(format!("{:.1}", points[at].1 - radius(at) - 4.0)) {
                                (short(&node.name))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A name that fits beside a node.
fn short(name: &str) -> String {
    match name.char_indices().nth(26) {
        Some((end, _)) => format!("{}\u{2026}", &name[..end]),
        None => name.to_owned(),
    }
}

fn table(pages: &[GraphPage], chosen: &[usize]) -> Markup {
    let linked = linked(pages);
    let mut rows = chosen.to_vec();
    rows.sort_by_key(|&at| (usize::MAX - pages[at].links.len() - linked[at], at));
    html! {
        details.rows {
            summary { "As a table" }
            div.table tabindex="0" role="region" aria-label="Pages and their links" {
                table {
                    thead { tr { th { "Page" } th.right { "Links to" } th.right { "Linked from" } th.right { "Sources" } th { "Around it" } } }
                    tbody {
                        @for &at in rows.iter().take(MOST_ROWS) {
                            tr {
                                td { a href=(urls::page(&pages[at].id)) { (pages[at].title) } }
                                td.right { (pages[at].links.len()) }
                                td.right { (linked[at]) }
                                td.right { (pages[at].sources.len()) }
                                td { a href={ "/graph?around=" (urls::value(&pages[at].id)) } { "graph" } }
                            }
                        }
                    }
                }
            }
            @if rows.len() > MOST_ROWS {
                p.faint { "The " (MOST_ROWS) " with most links of " (grouped(rows.len() as u64)) "; a folder shows fewer." }
            }
        }
    }
}
