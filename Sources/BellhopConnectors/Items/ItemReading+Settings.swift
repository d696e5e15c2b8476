public import BellhopCore

extension Setting {
    static func initial(of item: String) -> Setting {
        Setting(
            "initial", .oneOf(["baseline", "emit"]), default: "baseline",
            "Whether the first poll only sets the baseline, or emits a task_created for each \(item).")
    }

    static let timeout = Setting("timeout", .duration, least: "1ms", "The time limit of a request; by default the connection's.")
}

extension ItemReading {
    public static let settings: [Setting] = [
        Setting(
            "items", .text,
            "The path to the items in the answer, such as `result.orders`; by default the answer is the list."),
        Setting("id", .text, required: true, "The path to an item's unique id, such as `id`."),
        Setting("number", .text, "The path to the item number that people use; by default the id."),
        Setting("title", .text, "The path to an item's title."),
        Setting("type", .text, "The path to an item's type, as shown to people."),
        Setting(
            "url", .text,
            "The address where a person opens an item; `{id}`, or a path in braces, is replaced by its value: `https://shop.example.com/{id}`."
        ),
        Setting(
            "fields",
            .list(.either([.text, .map(.fieldPath)])),
            "The fields of an item: a name, `name: path`, or `name: {path, type}`."),
        .initial(of: "item"),
    ]

    /// Reads the checked settings of a source to which other systems send single items.
    public static func sent(_ settings: Settings, source: String) throws(ConnectorError) -> ItemReading {
        var settings = settings
        // The sent items are joined to a list, which has them at its top.
        settings.values["items"] = nil
        var reading = try ItemReading(settings, source: source, className: "item")
        guard let name = settings.text("updated") else { return reading }
        guard let field = reading.schema[name] else {
            let help = Suggestion.didYouMean(name, among: reading.schema.fields.map(\.name)).map { ": \($0)" } ?? ""
            throw ConnectorError(
                connection: source, setting: "updated",
                "There is no field `\(name)`: declare it under `fields`, such as {\(name): {type: timestamp}}\(help).")
        }
        guard [.timestamp, .int, .double].contains(field.type) else {
            throw ConnectorError(
                connection: source, setting: "updated",
                "The field `\(name)` of type \(field.type.rawValue) cannot order states: write {\(name): {type: timestamp}}, or `int` for a version."
            )
        }
        reading.version = field
        // This field changes together with others, so its change alone is not one of the task.
        reading.schema.roles.bookkeeping = [name]
        return reading
    }

    /// Reads checked settings.
    /// - Parameters:
    ///   - source: its name, for messages.
    ///   - className: the `task.class` of every item.
    public init(_ settings: Settings, source: String, className: String) throws(ConnectorError) {
        func path(_ name: String) throws(ConnectorError) -> JSON.Path? {
            try settings.text(name).map { text throws(ConnectorError) in try Self.path(text, name, source) }
        }
        let keys = try (path("id") ?? JSON.Path()).steps.map { step throws(ConnectorError) -> String in
            if case .key(let name) = step { return name }
            throw ConnectorError(connection: source, setting: "id", "The path to an id must consist of names, without [0].")
        }
        guard !keys.isEmpty else {
            throw ConnectorError(connection: source, setting: "id", "Set the path to an item's id: `id: …`.")
        }
        let page = try ConnectorError.reading("url", of: source) { () throws(InvalidValue) in
            try settings.text("url").map { text throws(InvalidValue) in try ItemPage(text) }
        }
        self.init(
            shape: ListingShape(items: try path("items") ?? JSON.Path(), key: keys, mayHaveGroups: false),
            number: try path("number"), title: try path("title"), type: try path("type"), className: className, page: page,
            fields: try Self.fields(settings.values["fields"], source))
    }

    private static func path(_ text: String, _ setting: String, _ source: String) throws(ConnectorError) -> JSON.Path {
        guard let path = JSON.Path(text: text) else {
            throw ConnectorError(
                connection: source, setting: setting, "`\(text)` is not a path: write names and indexes as in `a.b[0]`.")
        }
        return path
    }

    private static func fields(_ setting: JSON?, _ source: String) throws(ConnectorError) -> [(TaskSchema.Field, JSON.Path)] {
        var fields: [(field: TaskSchema.Field, path: JSON.Path)] = []
        func add(_ name: String, _ text: String, _ type: FieldType) throws(ConnectorError) {
            guard FieldName.isValid(name) else {
                throw ConnectorError(
                    connection: source, setting: "fields",
                    "`\(name)` is not a field name (letters, digits and _ only): rename it, as in {\(FieldName.made(of: name)): \(name)}."
                )
            }
            guard !fields.contains(where: { $0.field.name == name }) else {
                throw ConnectorError(connection: source, setting: "fields", "The field `\(name)` is declared twice.")
            }
            fields.append((TaskSchema.Field(name, type, path: text), try path(text, "fields", source)))
        }
        guard let setting, !setting.isNull else { return [] }
        for item in setting.asArray ?? [setting] {
            if let members = item.asObject {
                for (name, value) in members {
                    let type = value["type"]?.asString ?? FieldType.text.rawValue
                    guard let type = FieldType(rawValue: type) else {
                        throw ConnectorError(connection: source, setting: "fields", "There is no type `\(type)`.")
                    }
                    try add(name, value.asString ?? value["path"]?.asString ?? name, type)
                }
            } else {
                let name = ItemValue.text(item)
                try add(name, name, .text)
            }
        }
        return fields
    }
}
