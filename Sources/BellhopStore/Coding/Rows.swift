import BellhopCore

extension StoredEvent {
    /// Reads the columns of `SQL.Bus.columns`, which come first.
    init(_ row: borrowing Prepared) throws {
        guard case .object(let data) = try row.json(7) else {
            throw DamagedValue("the data of event \(row.int(0)) is not an object")
        }
        self.init(
            sequence: row.int(0),
            event: Event(
                id: Event.ID(row.key(1)), type: EventType(row.text(2)), source: row.text(3), subject: row.text(4),
                time: row.time(5), data: data, hop: Int(row.int(6))))
        event.cause = row.optionalKey(8).map(Event.ID.init)
    }
}

/// A delivery as stored in its row; another version may have written its body, which may then be unreadable.
struct DeliveryRow {
    var delivery: Delivery
    /// Why the body cannot be read; then `delivery` has no arguments.
    var problem: DamagedValue?

    /// Reads the columns of `SQL.Deliveries.identity`, which come first.
    init(_ row: borrowing Prepared) {
        delivery = Delivery(
            id: Delivery.ID(
                occasion: Occasion.ID(row.text(0)), rule: row.text(1), step: StepPath(row.text(2)), receiver: row.text(3)),
            revision: "", action: row.text(4), effect: row.optionalText(5).flatMap(Delivery.Effect.init), arguments: .values([:]),
            task: nil, lane: row.text(6), createdAt: row.time(9), runAt: row.time(11), expires: row.optionalTime(10),
            hop: Int(row.int(8)))
        do {
            let body = try DeliveryBody(stored: JSON.parse(row.bytes(Self.body)))
            delivery.revision = body.revision
            delivery.name = body.name
            delivery.arguments = body.arguments
            delivery.task = body.task
            delivery.retry = body.retry
            delivery.after = body.after
            delivery.settles = body.settles
            delivery.initial = body.initial
            delivery.edits = body.edits
        } catch let error as DamagedValue {
            problem = error
        } catch {
            problem = DamagedValue("it is not JSON: \(error)")
        }
    }

    static let body: Int32 = 7

    /// Where the columns after the identity start.
    static let width: Int32 = 12

    /// The failure of a delivery whose body cannot be read.
    static func failure(_ problem: DamagedValue) -> Failure {
        Failure(
            .badArguments, .giveUp,
            "The content cannot be read from the store: \(problem.problem)."
                + (problem.isNewer ? " Retry it with the newer Bellhop that wrote it." : ""))
    }
}
