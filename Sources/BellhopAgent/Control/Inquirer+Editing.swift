import BellhopConnectors
import BellhopCore
import BellhopRules

extension Inquirer {
    /// The arguments of a dead or held delivery as a text to edit.
    func form(of id: String) async throws(StoreError) -> JSON {
        let record = try await delivery(id)
        let form = try Self.form(of: record)
        return ["delivery": record.json, "text": .string(form.text)]
    }

    /// Stores a person's change. Returns `{"difference": …}`, empty without a change, or the mistakes in it as `{"problems": […]}`.
    func edit(_ edit: FormEdit) async throws(StoreError) -> JSON {
        let record = try await delivery(edit.delivery)
        let form = try Self.form(of: record)
        guard form.text == edit.before else { throw Self.changedMeanwhile(record) }
        let (arguments, text): (Arguments, String)
        do throws(Diagnostics) {
            (arguments, text) = try form.read(edit.after)
        } catch {
            return ["problems": .array(error.all.map { .string($0.rendered(colour: false)) })]
        }
        guard text != edit.before else { return ["difference": ""] }
        let change = DeliveryEdit(
            id: record.delivery.id, before: record.delivery.arguments, after: arguments,
            edit: Delivery.Edit(by: edit.by, at: clock.now))
        guard try await store.edit(change) else { throw Self.changedMeanwhile(record) }
        return ["difference": .string(LineDiff(from: edit.before, to: text).unified())]
    }

    private static func form(of record: DeliveryRecord) throws(StoreError) -> DeliveryForm {
        let short = String(record.delivery.id.text.prefix(12))
        guard record.state == .dead || record.state == .held else {
            throw StoreError(
                .other,
                "Delivery \(short) is \(record.state.rawValue): only a dead or held one can be edited. Nothing was changed.")
        }
        guard let action = Catalogue.actions.first(where: { $0.kind == record.delivery.action }) else {
            throw StoreError(
                .other, "Delivery \(short) is a `\(record.delivery.action)`, which this version of Bellhop does not know.")
        }
        return DeliveryForm(record.delivery, action: action)
    }

    private static func changedMeanwhile(_ record: DeliveryRecord) -> StoreError {
        StoreError(
            .other,
            "Delivery \(String(record.delivery.id.text.prefix(12))) was changed, retried or dropped meanwhile; your change was not stored."
        )
    }
}
