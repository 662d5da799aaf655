//! BM25 over sections: `idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))` with
//! `idf = ln(1 + (N - df + 0.5) / (df + 0.5))` and k1 = 1.2 (Robertson and Zaragoza 2009, with the
//! logarithm kept positive); `b` is the analysis's. `tf` is the weighted sum over fields in half units, so
//! that it is an exact integer. Ties are broken elsewhere: page id in UTF-16 order, start line.

use super::Analysis;

/// How much a second occurrence of a term still adds.
pub const K1: f64 = 1.2;

/// How telling a term is that `df` of `n` sections hold. Never negative, also when `df > n`
/// because of a count in flight.
pub fn idf(n: u64, df: u64) -> f64 {
    let rest = n.saturating_sub(df) as f64;
    (1.0 + (rest + 0.5) / (df as f64 + 0.5)).ln()
}

/// The part of the formula that does not depend on the term.
#[derive(Debug, Clone, Copy)]
pub struct Scorer {
    /// Saturation, usually [`K1`].
    pub k1: f64,
    /// Length normalisation, that of the [analysis](Analysis::length_normalisation).
    pub b: f64,
    /// Average section length in tokens; 0 when no section has any.
    pub avg: f64,
}

impl Scorer {
    /// The scorer of an analysis.
    pub fn new(analysis: Analysis, avg: f64) -> Self {
        Self {
            k1: K1,
            b: analysis.length_normalisation(),
            avg,
        }
    }

    /// Share of one term in the score of a section of `length` tokens, where the term's
    /// weighted frequency is `weight` half units.
    pub fn term_score(&self, idf: f64, weight: u32, length: u32) -> f64 {
        let tf = f64::from(weight) / f64::from(super::WEIGHT_UNIT);
        let relative = if self.avg > 0.0 {
            f64::from(length) / self.avg
        } else {
            0.0
        };
        idf * (tf * (self.k1 + 1.0)) / (tf + self.k1 * (1.0 - self.b + self.b * relative))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_term_in_an_average_section_scores_its_idf() {
        let scorer = Scorer::new(Analysis::Classic, 8.0);
        let idf = idf(1, 1);
        assert!((idf - 0.287_682_072_451_780_85).abs() < 1e-15);
        assert!((scorer.term_score(idf, 2, 8) - idf).abs() < 1e-15);
        assert!((scorer.term_score(idf, 4, 8) - 0.395_562_849_621_198_64).abs() < 1e-15);
    }

    #[test]
    fn score_grows_with_frequency_and_falls_with_length() {
        let scorer = Scorer::new(Analysis::Classic, 10.0);
        assert!(scorer.term_score(1.0, 4, 10) > scorer.term_score(1.0, 2, 10));
        assert!(scorer.term_score(1.0, 2, 10) > scorer.term_score(1.0, 2, 11));
        assert!(scorer.term_score(1.0, 0, 0).abs() < f64::EPSILON);
        assert!(
            Scorer::new(Analysis::Classic, 0.0)
                .term_score(1.0, 2, 0)
                .is_finite()
        );
    }

    #[test]
    fn idf_is_never_negative() {
        assert!(idf(0, 0) > 0.0 && idf(3, 3) > 0.0 && idf(3, 9) > 0.0);
    }
}
