public import BellhopCore

/// What is built in: an explicit list, from which come checking, help, the JSON Schema and the reference page.
///
/// A new connector is one file and one line here, and its case where ``Connectors`` makes it.
public enum Catalogue {
    public static let connections: [ConnectionManifest] = [
        ServiceNowConnection.manifest,
        SlackConnection.manifest,
        WebhookConnection.manifest,
    ]

    public static let sources: [SourceManifest] = [
        TrackerSource.manifest
    ]

    public static let actions: [ActionManifest] = [
        CommentAction.manifest,
        LogAction.manifest,
        NotifyAction.manifest,
        WebhookAction.manifest,
    ]

    /// Actions of the contract that are not built yet: refused by name.
    public static let laterActions = ["update", "emit", "exec", "create", "attach", "touchpoint", "adapter", "rest"]
}
