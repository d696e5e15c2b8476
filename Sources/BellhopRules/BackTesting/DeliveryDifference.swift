public import BellhopCore

/// The deliveries that only one of two back-tests makes, found while both run. Deliveries that both make are only counted.
public struct DeliveryDifference: Sendable {
    /// A delivery that the other back-test has not made yet.
    private struct Single {
        var outline: DeliveryOutline
        /// The hash of its arguments.
        var contents: Int

        init(_ delivery: Delivery) { (outline, contents) = (DeliveryOutline(delivery), delivery.arguments.hashValue) }
    }

    private typealias Singles = [Delivery.ID: Single]

    private var (before, after): (Singles, Singles) = ([:], [:])
    /// The deliveries that only one back-test has made for so long that they are no longer compared.
    private var (gone, come): (DeliveryOutlines, DeliveryOutlines)
    /// The deliveries that both make, but with different contents: those of the second back-test.
    public private(set) var changed: DeliveryOutlines
    /// The number of equal deliveries of both.
    public private(set) var same = 0
    /// The most deliveries that are kept until the other back-test makes them.
    private let maxSingles: Int

    /// - Parameter most: the most deliveries of each kind that are kept.
    public init(most: Int = 100_000, maxSingles: Int = 100_000) {
        (gone, come, changed) = (DeliveryOutlines(most: most), DeliveryOutlines(most: most), DeliveryOutlines(most: most))
        self.maxSingles = maxSingles
    }

    /// Reads the form of ``json``. Deliveries cannot be added to the result.
    public init?(json: JSON) {
        guard let same = json["same"]?.asInt else { return nil }
        func list(_ name: String) -> DeliveryOutlines { DeliveryOutlines(json: json[name], count: json["counts"]?[name]) }
        (gone, come, changed) = (list("goes"), list("comes"), list("changes"))
        (self.same, maxSingles) = (Int(same), 0)
    }

    public var isEmpty: Bool { before.isEmpty && after.isEmpty && come.count + gone.count + changed.count == 0 }

    /// The deliveries that only the second back-test makes, in the order of their times.
    public var coming: DeliveryOutlines { Self.settled(come, after) }
    /// The deliveries that only the first back-test makes, in the order of their times.
    public var going: DeliveryOutlines { Self.settled(gone, before) }

    private static func settled(_ outlines: DeliveryOutlines, _ singles: Singles) -> DeliveryOutlines {
        sorted(singles).reduce(into: outlines) { $0.add($1.value.outline) }
    }

    private static func sorted(_ singles: Singles) -> [(key: Delivery.ID, value: Single)] {
        singles.sorted {
            let (one, other) = ($0.value.outline, $1.value.outline)
            return (one.time, one.rule, one.step.text, one.receiver) < (other.time, other.rule, other.step.text, other.receiver)
        }
    }

    public mutating func add(before made: [Delivery], after new: [Delivery]) {
        for single in made.map(Single.init) {
            let key = single.outline.id
            if let other = after.removeValue(forKey: key) { compare(single, other) } else { before[key] = single }
        }
        for single in new.map(Single.init) {
            let key = single.outline.id
            if let other = before.removeValue(forKey: key) { compare(other, single) } else { after[key] = single }
        }
        if before.count > maxSingles { Self.settle(&before, into: &gone) }
        if after.count > maxSingles { Self.settle(&after, into: &come) }
    }

    /// Stops comparing the older half, which the other back-test is unlikely to make any more.
    private static func settle(_ singles: inout Singles, into outlines: inout DeliveryOutlines) {
        for (key, single) in sorted(singles).prefix(singles.count / 2 + 1) {
            outlines.add(single.outline)
            singles[key] = nil
        }
    }

    private mutating func compare(_ one: Single, _ other: Single) {
        let (first, second) = (one.outline, other.outline)
        let isSame = first.action == second.action && first.outcome == second.outcome && one.contents == other.contents
        if isSame { same += 1 } else { changed.add(other.outline) }
    }

    public var json: JSON {
        let (coming, going) = (coming, going)
        return [
            "same": .int(Int64(same)), "comes": coming.json, "goes": going.json, "changes": changed.json,
            "counts": [
                "comes": .int(Int64(coming.count)), "goes": .int(Int64(going.count)), "changes": .int(Int64(changed.count)),
            ],
        ]
    }
}
