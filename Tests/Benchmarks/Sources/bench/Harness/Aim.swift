/// The target of a measurement.
struct Aim: Sendable, Hashable {
    /// The figure that is judged.
    enum Subject: Sendable, Hashable {
        /// The ratio to the yardstick of the same run, which holds on any machine.
        case ratio
        /// The figure itself, which applies to a quiet machine.
        case figure
    }

    enum Bound: Sendable, Hashable {
        case atLeast(Double)
        case atMost(Double)
    }

    var subject: Subject
    var bound: Bound

    static func ratio(atLeast floor: Double) -> Aim { Aim(subject: .ratio, bound: .atLeast(floor)) }
    static func ratio(atMost ceiling: Double) -> Aim { Aim(subject: .ratio, bound: .atMost(ceiling)) }
    static func figure(atLeast floor: Double) -> Aim { Aim(subject: .figure, bound: .atLeast(floor)) }
    static func figure(atMost ceiling: Double) -> Aim { Aim(subject: .figure, bound: .atMost(ceiling)) }

    /// The same aim with its bound widened by this factor; nil for a bound of zero, which only an optimised build reaches.
    func widened(by factor: Double) -> Aim? {
        switch bound {
        case .atMost(0) where factor > 1: nil
        case .atLeast(let floor): Aim(subject: subject, bound: .atLeast(floor / factor))
        case .atMost(let ceiling): Aim(subject: subject, bound: .atMost(ceiling * factor))
        }
    }

    func isMet(by value: Double) -> Bool {
        switch bound {
        case .atLeast(let floor): value >= floor
        case .atMost(let ceiling): value <= ceiling
        }
    }

    func text(for measured: Quantity) -> String {
        let (sign, limit) =
            switch bound {
            case .atLeast(let floor): ("≥", floor)
            case .atMost(let ceiling): ("≤", ceiling)
            }
        return switch subject {
        case .ratio: "ratio \(sign) \(Quantity.fixed(limit, 2))"
        case .figure: "\(sign) \(measured.with(limit))"
        }
    }
}
