public import BellhopCore

/// What of the deliveries of two back-tests differs, told while both run: what is the same in both is forgotten at once.
public struct DeliveryDifference: Sendable {
    /// A delivery that only one of them makes.
    public struct Entry: Sendable, Hashable {
        public var delivery: Delivery
        public var key: Key
    }

    /// What a delivery is for. Unlike its id, it does not depend on places on the bus, at which the two may differ.
    public struct Key: Sendable, Hashable {
        var occasion: String
        var rule: String
        var step: StepPath
        var receiver: String
        /// Tells a message that a quiet time held from its release.
        var isReleased = false

        init(_ id: Delivery.ID) {
            occasion = id.occasion.withoutPlaces
            (rule, step, receiver) = (id.rule, id.step, id.receiver)
        }
    }

    private var before: [Key: Delivery] = [:]
    private var after: [Key: Delivery] = [:]
    /// Those that both make, with other contents.
    public private(set) var changed: [(before: Delivery, after: Delivery)] = []
    /// How many both make alike.
    public private(set) var same = 0

    public init() {}

    public var isEmpty: Bool { before.isEmpty && after.isEmpty && changed.isEmpty }

    /// Those that come, and those that go, in the order of their time.
    public var coming: [Delivery] { Self.sorted(after) }
    public var going: [Delivery] { Self.sorted(before) }

    private static func sorted(_ list: [Key: Delivery]) -> [Delivery] {
        list.values.sorted {
            ($0.createdAt, $0.id.rule, $0.id.step.text, $0.id.receiver) < (
                $1.createdAt, $1.id.rule, $1.id.step.text, $1.id.receiver
            )
        }
    }

    public mutating func add(before made: [Delivery], after new: [Delivery]) {
        for delivery in made {
            let key = Key(delivery.id)
            if let other = after.removeValue(forKey: key) { compare(delivery, other) } else { before[key] = delivery }
        }
        for delivery in new {
            let key = Key(delivery.id)
            if let other = before.removeValue(forKey: key) { compare(other, delivery) } else { after[key] = delivery }
        }
    }

    private mutating func compare(_ one: Delivery, _ other: Delivery) {
        let isSame =
            one.action == other.action && one.arguments == other.arguments && one.initial.name == other.initial.name
        if isSame { same += 1 } else { changed.append((one, other)) }
    }
}

extension Occasion.ID {
    /// The name without the place on the bus of the event that began a timer.
    public var withoutPlaces: String {
        guard let timer = text.firstRange(of: "timer/")?.lowerBound else { return text }
        var parts = text[timer...].split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5 else { return text }
        // Times before 1970 begin with the sign.
        if let end = parts[3].dropFirst().firstIndex(of: "-") { parts[3] = String(parts[3][..<end]) }
        return text[..<timer] + parts.joined(separator: "/")
    }
}
