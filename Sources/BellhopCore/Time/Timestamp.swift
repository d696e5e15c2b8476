/// A moment on the wall clock: whole microseconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// Covers some 292,000 years either way. Arithmetic saturates at ``distantPast`` and ``distantFuture``; it never traps.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Microseconds since 1970-01-01T00:00:00Z; negative before.
    public var microseconds: Int64

    /// The moment this many microseconds after 1970-01-01T00:00:00Z.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// The moment this many seconds after 1970-01-01T00:00:00Z, at most ``distantFuture``, at least ``distantPast``.
    public init(seconds: Int64) {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        microseconds = overflow ? (seconds < 0 ? .min : .max) : product
    }

    /// 1970-01-01T00:00:00Z.
    public static let epoch = Timestamp(microseconds: 0)
    /// The latest moment; later results are clamped to it.
    public static let distantFuture = Timestamp(microseconds: .max)
    /// The earliest moment; earlier results are clamped to it.
    public static let distantPast = Timestamp(microseconds: .min)

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
    public var seconds: Int64 { microseconds.flooredDivision(by: 1_000_000).quotient }

    /// The remainder of ``seconds``: 0 to 999,999 microseconds.
    public var subsecondMicroseconds: Int { Int(microseconds.flooredDivision(by: 1_000_000).remainder) }

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    /// The moment a duration later, truncated to microseconds.
    public static func + (moment: Timestamp, duration: Duration) -> Timestamp {
        let step = duration.wholeMicroseconds
        let (sum, overflow) = moment.microseconds.addingReportingOverflow(step)
        return Timestamp(microseconds: overflow ? (step < 0 ? .min : .max) : sum)
    }

    /// The moment a duration earlier, truncated to microseconds.
    public static func - (moment: Timestamp, duration: Duration) -> Timestamp {
        let step = duration.wholeMicroseconds
        let (difference, overflow) = moment.microseconds.subtractingReportingOverflow(step)
        return Timestamp(microseconds: overflow ? (step < 0 ? .max : .min) : difference)
    }

    public static func += (moment: inout Timestamp, duration: Duration) { moment = moment + duration }

    public static func -= (moment: inout Timestamp, duration: Duration) { moment = moment - duration }

    /// The time from the second moment to the first; exact over the whole range.
    public static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .microseconds(later.microseconds) - .microseconds(earlier.microseconds)
    }
}

/// A duration as a number. Whole numbers are rounded towards zero and clamped to `Int64`.
extension Duration {
    public var seconds: Double { self / .seconds(1) }
    public var wholeMilliseconds: Int64 { whole(perSecond: 1000) }
    public var wholeMicroseconds: Int64 { whole(perSecond: 1_000_000) }
    public var wholeNanoseconds: Int64 { whole(perSecond: 1_000_000_000) }

    @inline(__always) private func whole(perSecond count: Int64) -> Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: count)
        let (sum, carried) = product.addingReportingOverflow(attoseconds / (1_000_000_000_000_000_000 / count))
        return overflow || carried ? (seconds < 0 ? .min : .max) : sum
    }
}

extension BinaryInteger {
    /// Division that rounds down, so that the remainder is never negative for a positive divisor.
    func flooredDivision(by divisor: Self) -> (quotient: Self, remainder: Self) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
