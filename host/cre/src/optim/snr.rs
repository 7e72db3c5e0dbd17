//! Energy of an upload as a function of its signal-to-noise ratio.
//!
//! With x = p h / (B N0) and e_inf = l N0 ln2 / h an upload spends
//! e = (e_inf / zeta) (x + c) / ln(1 + x), where c = zeta P_c h / (B N0) is the ratio the circuit
//! power would give if it were radiated. The paper has c = 0.

/// Solves (x + c) / ln(1 + x) = 1 + d for the x on the rising branch, x >= d.
///
/// That is (x - ln(1 + x)) + c - d ln(1 + x) = 0, a convex function of x whose least value is at
/// x = d; its first part has a series near 0. Where it has no root the answer is d, at which
/// (x + c) / ln(1 + x) is nearest to the right side.
pub(super) fn rising(d: f64, c: f64) -> f64 {
    // Right of the root in both regimes: x / ln(1 + x) >= 1 + x/2 - x^2/12, and <= at the guess;
    // c moves the root to the left. Newton's method then converges from the right.
    let ratio = 1.0 + d;
    let mut x = if d < 0.5 {
        2.0 * d + d * d
    } else {
        ratio * (2.0 * libm::log(ratio) + 1.0)
    };
    for _ in 0..64 {
        let step = (x_minus_log1p(x) + c - d * libm::log1p(x)) * (1.0 + x) / (x - d);
        let next = x - step;
        if (next - x).abs() <= f64::EPSILON * x || next <= d {
            return next.max(d);
        }
        x = next;
    }
    x
}

/// Returns the x at which (x + c) / ln(1 + x) is least, or `most` if that is beyond it.
///
/// The derivative vanishes where (1 + x) ln(1 + x) - x = c; the left side is convex and rises from
/// 0. In closed form 1 + x = exp(1 + W_0((c - 1) / e)), which loses its digits near c = 0.
pub(super) fn cheapest(c: f64, most: f64) -> f64 {
    if c <= 0.0 {
        return 0.0;
    }
    if c >= marginal(most) {
        return most;
    }
    // Right of the root: (1 + x) ln(1 + x) - x >= x^2 / (2 + 2x/3) (Bernstein's inequality).
    let mut x = (c / 3.0 + (c * c / 9.0 + 2.0 * c).sqrt()).min(most);
    for _ in 0..64 {
        let next = x - (marginal(x) - c) / libm::log1p(x);
        if next.is_nan() || next >= x * (1.0 - f64::EPSILON) {
            break;
        }
        x = next;
    }
    x
}

/// Returns (1 + x) ln(1 + x) - x: below c a higher power spends less energy, above it more.
fn marginal(x: f64) -> f64 {
    // Near 0 only half of x^2 is subtracted, so no digits are lost.
    x * libm::log1p(x) - x_minus_log1p(x)
}

/// Returns x - ln(1 + x) without the cancellation near 0.
fn x_minus_log1p(x: f64) -> f64 {
    if x > 0.3 {
        return x - libm::log1p(x);
    }
    // ln(1 + x) = 2 atanh(r) with r = x / (2 + x); x = 2 r / (1 - r).
    let r = x / (2.0 + x);
    let square = r * r;
    let (mut power, mut sum, mut odd) = (r * square, 0.0, 3.0);
    while power > f64::EPSILON * 1e-3 * r * square && odd < 60.0 {
        sum += power / odd;
        power *= square;
        odd += 2.0;
    }
    // x - 2 r = 2 r^2 / (1 - r).
    2.0 * square / (1.0 - r) - 2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excess_equation_is_solved_from_the_branch_point_to_the_far_end() {
        for exponent in -15..=12 {
            let d = 10f64.powi(exponent);
            let x = rising(d, 0.0);
            let back = x_minus_log1p(x) / libm::log1p(x);
            assert!(
                (back / d - 1.0).abs() < 1e-13,
                "d = {d}: x = {x} gives {back}"
            );
        }
    }

    #[test]
    fn x_minus_log1p_is_smooth_where_its_two_forms_meet() {
        for x in [0.299_999, 0.300_001] {
            let direct = x - libm::log1p(x);
            assert!((x_minus_log1p(x) / direct - 1.0).abs() < 1e-13);
        }
        assert!((x_minus_log1p(1e-8) / (0.5e-16 - 1e-24 / 3.0) - 1.0).abs() < 1e-14);
    }

    #[test]
    fn the_cheapest_ratio_is_found_from_a_faint_circuit_to_a_mighty_one() {
        for exponent in -30..=15 {
            let c = 3.7 * 10f64.powi(exponent);
            let x = cheapest(c, f64::MAX);
            let back = marginal(x);
            assert!(
                (back / c - 1.0).abs() < 1e-13,
                "c = {c}: x = {x} gives {back}"
            );
            // With s = sqrt(2 c) the root is s + s^2/6 - ...
            if exponent < -20 {
                let s = (2.0 * c).sqrt();
                assert!((x / (s + s * s / 6.0) - 1.0).abs() < 1e-13);
            }
        }
        assert_eq!(cheapest(0.0, 5.0), 0.0);
        assert_eq!(cheapest(1e3, 5.0), 5.0, "the radio has no more power");
        assert_eq!(cheapest(f64::INFINITY, 5.0), 5.0);
        let known = std::f64::consts::E - 1.0;
        assert!((cheapest(1.0, f64::MAX) - known).abs() < 1e-15);
    }

    #[test]
    fn with_a_circuit_the_rising_root_is_right_of_the_cheapest_ratio() {
        for c in [1e-20, 1e-9, 1e-3, 1.0, 30.0, 1e6, 1e12] {
            let least = cheapest(c, f64::MAX);
            for above in [1e-12, 1e-6, 1e-3, 0.1, 1.0, 100.0, 1e6] {
                // At the cheapest ratio (x + c) / ln(1 + x) = 1 + x.
                let d = (1.0 + least) * (1.0 + above) - 1.0;
                let x = rising(d, c);
                assert!(x >= least * (1.0 - 1e-12), "c = {c}, d = {d}");
                let back = (x_minus_log1p(x) + c) / libm::log1p(x);
                assert!(
                    (back - d).abs() <= 1e-12 * (1.0 + d),
                    "c = {c}, d = {d}: {back}"
                );
            }
            assert_eq!(rising(0.99 * least, c), 0.99 * least, "nothing is so cheap");
        }
    }
}
