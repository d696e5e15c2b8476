/// One line of the table: the measurement, its yardstick from the same run, and its aim.
struct Measurement: Sendable, Hashable {
    /// A figure measured in the same run for comparison.
    struct Yardstick: Sendable, Hashable {
        var name: String
        var quantity: Quantity
    }

    var name: String
    var measured: Quantity
    var yardstick: Yardstick?
    /// Nil if the figure is only reported.
    var aim: Aim?
    var remark: String?
    /// The reason why it could not be measured; then the figures mean nothing.
    var missing: String?

    init(_ name: String, _ measured: Quantity, beside yardstick: Yardstick? = nil, aim: Aim? = nil, remark: String? = nil) {
        self.name = name
        self.measured = measured
        self.yardstick = yardstick
        self.aim = aim
        self.remark = remark
    }

    /// A line for a measurement that was not possible.
    static func missing(_ name: String, _ reason: String) -> Measurement {
        var measurement = Measurement(name, .factor(0))
        measurement.missing = reason
        return measurement
    }

    func widened(by factor: Double) -> Measurement {
        var copy = self
        copy.aim = aim.flatMap { $0.widened(by: factor) }
        return copy
    }

    /// The measurement as a fraction of its yardstick.
    var ratio: Double? { yardstick.map { measured.value / $0.quantity.value } }

    enum Grade: String, Sendable, Hashable {
        case met, missed
        /// True if an absolute aim was missed while other processes used the machine.
        case busy = "missed on a busy machine"
        case reported = "-"
        case missing
    }

    func verdict(onBusyMachine isBusy: Bool) -> Grade {
        if missing != nil { return .missing }
        guard let aim else { return .reported }
        switch aim.subject {
        case .ratio: return ratio.map(aim.isMet) ?? false ? .met : .missed
        case .figure: return aim.isMet(by: measured.value) ? .met : isBusy ? .busy : .missed
        }
    }
}
