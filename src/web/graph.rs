//! Where the nodes of a graph are drawn: forces between them, as Fruchterman and Reingold have
//! it ("Graph Drawing by Force-directed Placement", 1991), with the repulsion of near nodes only,
//! which a grid finds. Equal graphs give equal drawings.

use std::collections::HashMap;

/// How often the forces are applied.
const ROUNDS: u16 = 120;

/// How far linked nodes want to be apart, in units of the drawing.
const DISTANCE: f32 = 60.0;

/// How far a node pushes.
const REACH: f32 = DISTANCE * 3.0;

/// A place in the drawing.
pub(super) type Point = (f32, f32);

/// A place for each of `count` nodes; `edges` name nodes by number.
pub(super) fn layout(count: usize, edges: &[(usize, usize)]) -> Vec<Point> {
    // A spiral in which each node has as much room as the others.
    let golden = std::f32::consts::PI * (3.0 - 5.0_f32.sqrt());
    let mut points: Vec<Point> = (0..count)
        .map(|at| {
            let at = at as f32;
            let radius = DISTANCE * 0.6 * (at + 0.5).sqrt();
            (radius * (golden * at).cos(), radius * (golden * at).sin())
        })
        .collect();
    let mut degrees = vec![0.0_f32; count];
    for &(a, b) in edges {
        degrees[a] += 1.0;
        degrees[b] += 1.0;
    }
    for round in 0..ROUNDS {
        let mut moves = vec![(0.0_f32, 0.0_f32); count];
        repel(&points, &mut moves);
        for &(a, b) in edges {
            let (dx, dy) = (points[a].0 - points[b].0, points[a].1 - points[b].1);
            let length = (dx * dx + dy * dy).sqrt();
            // A node with many links would draw all that it links to onto one heap.
            let pull = length / DISTANCE / degrees[a].min(degrees[b]).sqrt() / 2.0;
            moves[a] = (moves[a].0 - dx * pull, moves[a].1 - dy * pull);
            moves[b] = (moves[b].0 + dx * pull, moves[b].1 + dy * pull);
        }
        let heat = DISTANCE * (1.0 - f32::from(round) / f32::from(ROUNDS));
        for (point, (dx, dy)) in points.iter_mut().zip(moves) {
            // Parts that nothing joins stay in sight.
            let (dx, dy) = (dx - point.0 * 0.05, dy - point.1 * 0.05);
            let length = (dx * dx + dy * dy).sqrt().max(0.01);
            let step = length.min(heat) / length;
            *point = (point.0 + dx * step, point.1 + dy * step);
        }
    }
    points
}

/// What pushes each node away from those in its cell and in the cells around it.
fn repel(points: &[Point], moves: &mut [Point]) {
    let side = REACH;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "cells of a drawing are few"
    )]
    let cell = |point: Point| {
        (
            (point.0 / side).floor() as i32,
            (point.1 / side).floor() as i32,
        )
    };
    let mut grid: HashMap<(i32, i32), Vec<usize>> = HashMap::new();
    for (at, &point) in points.iter().enumerate() {
        grid.entry(cell(point)).or_default().push(at);
    }
    for (at, &point) in points.iter().enumerate() {
        let (x, y) = cell(point);
        for near in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (x + dx, y + dy))) {
            for &other in grid.get(&near).into_iter().flatten() {
                if other == at {
                    continue;
                }
                let (dx, dy) = (point.0 - points[other].0, point.1 - points[other].1);
                let square = dx * dx + dy * dy;
                if square > side * side {
                    continue;
                }
                // Nodes in one place part in the order of their numbers.
                let (dx, dy) = if square < 0.01 {
                    (if at < other { -1.0 } else { 1.0 }, 0.5)
                } else {
                    (dx, dy)
                };
                let push = DISTANCE * DISTANCE / square.max(1.0);
                moves[at] = (moves[at].0 + dx * push, moves[at].1 + dy * push);
            }
        }
    }
}

/// The rectangle around all points: left, top, width, height, with a margin.
pub(super) fn bounds(points: &[Point]) -> (f32, f32, f32, f32) {
    let of = |pick: fn(&Point) -> f32| {
        let values = points.iter().map(pick);
        values.fold((0.0_f32, 0.0_f32), |(low, high), it| {
            (low.min(it), high.max(it))
        })
    };
    let ((left, right), (top, bottom)) = (of(|point| point.0), of(|point| point.1));
    let margin = DISTANCE * 1.5;
    (
        left - margin,
        top - margin,
        right - left + margin * 2.0,
        bottom - top + margin * 2.0,
    )
}

/// Which of the names can be written above their nodes without covering each other; each is given
/// with its place and how wide it is. The first come first.
pub(super) fn readable(names: &[(Point, f32)], height: f32) -> Vec<bool> {
    let mut taken: Vec<(Point, f32)> = Vec::new();
    names
        .iter()
        .map(|&((x, y), width)| {
            let covers = |&((ox, oy), other): &(Point, f32)| {
                (x - ox).abs() < width.midpoint(other) && (y - oy).abs() < height
            };
            let is_free = !taken.iter().any(covers);
            if is_free {
                taken.push(((x, y), width));
            }
            is_free
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(points: &[Point], a: usize, b: usize) -> f32 {
        let (dx, dy) = (points[a].0 - points[b].0, points[a].1 - points[b].1);
        (dx * dx + dy * dy).sqrt()
    }

    #[test]
    fn what_is_linked_is_nearer_than_what_is_not() {
        let edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)];
        let points = layout(6, &edges);
        assert!(apart(&points, 0, 1) < apart(&points, 0, 4), "{points:?}");
        assert!(apart(&points, 3, 5) < apart(&points, 2, 5), "{points:?}");
        assert_eq!(
            points,
            layout(6, &edges),
            "equal graphs give equal drawings"
        );
    }

    #[test]
    fn names_that_would_cover_others_are_left_out() {
        let names = [((0.0, 0.0), 50.0), ((40.0, 5.0), 50.0), ((60.0, 0.0), 50.0)];
        assert_eq!(readable(&names, 14.0), [true, false, true]);
    }

    #[test]
    fn two_thousand_nodes_keep_apart_and_in_sight() {
        let edges: Vec<(usize, usize)> = (1..2000).map(|at| (at, at / 7)).collect();
        let points = layout(2000, &edges);
        let (_, _, width, height) = bounds(&points);
        assert!(width < 12_000.0 && height < 12_000.0, "{width} {height}");
        assert!(points.iter().all(|(x, y)| x.is_finite() && y.is_finite()));
        let near = (1..2000)
            .filter(|&at| apart(&points, at, at - 1) < 4.0)
            .count();
        assert!(near < 40, "{near} lie on each other");
        assert!(layout(0, &[]).is_empty());
    }
}
