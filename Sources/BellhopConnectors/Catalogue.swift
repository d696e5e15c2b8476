public import BellhopCore

/// The built-in connectors. The checks, the help, the JSON Schema and the reference pages are generated from this list.
///
/// A new connector is one folder, and one line here for each of its connections, sources and actions.
public enum Catalogue {
    static let kinds: [ConnectionKind] = [
        ServiceNowConnection.kind,
        ETOConnection.kind,
        MobileFoundationConnection.kind,
        HookConnection<SlackReceiver>.kind,
        HookConnection<TeamsReceiver>.kind,
        HookConnection<DiscordReceiver>.kind,
        HookConnection<MattermostReceiver>.kind,
        HookConnection<GoogleChatReceiver>.kind,
        HookConnection<TelegramReceiver>.kind,
        HookConnection<PagerDutyReceiver>.kind,
        HookConnection<OpsgenieReceiver>.kind,
        EmailConnection.kind,
        HookConnection<NtfyReceiver>.kind,
        HookConnection<MatrixReceiver>.kind,
        HookConnection<WebhookReceiver>.kind,
        WebConnection.kind,
    ]

    static func kind(_ name: String) -> ConnectionKind? { kinds.first { $0.manifest.kind == name } }

    public static let connections: [ConnectionManifest] = kinds.map(\.manifest)

    public static let sources: [SourceManifest] = [
        TrackerSource.manifest,
        TableSource.manifest,
        TouchPointsSource.manifest,
        AdapterSource.manifest,
        RESTSource.manifest,
        PageSource.manifest,
    ]

    public static let actions: [ActionManifest] = [
        AcknowledgeAction.manifest,
        AttachAction.manifest,
        CommentAction.manifest,
        CreateAction.manifest,
        EmitAction.manifest,
        ExecAction.manifest,
        LogAction.manifest,
        NotifyAction.manifest,
        TouchPointAction.manifest,
        AdapterAction.manifest,
        UpdateAction.manifest,
        RESTAction.manifest,
        WebhookAction.manifest,
    ]

    static let messageAction = NotifyAction.manifest.kind

    /// The fields that rules may assume of a task without a configuration.
    public static let assumedFields = TaskFields.assumed

    /// Recognizes a query in a system's own language where a rule expects an expression.
    public static let queryHint: RuleContext.QueryHint = EncodedQuery.hint

    /// Errors in a source's settings that their types cannot express.
    public static func complaints(about settings: Settings, ofSource kind: String) -> [SettingComplaint] {
        kind == TableSource.manifest.kind ? TableQuestion.complaints(settings) : []
    }

    /// The type of event that reports a connection's logins; nil if there is none.
    public static func loginEvent(ofConnection kind: String, settings: Settings) -> EventType? {
        Self.kind(kind)?.logins(settings)
    }

    public static func login(ofKind kind: String, _ settings: Settings) -> LoginMethod {
        Self.kind(kind)?.login(settings) ?? .none("its kind is unknown")
    }

    /// The request body that a connection of this kind receives for a message, without secrets; nil if it does not take messages.
    public static func body(of message: Message, for delivery: Delivery, kind: String, _ settings: Settings) -> JSON? {
        Self.kind(kind)?.body?(message, delivery, settings)
    }

    /// Whether messages to a kind of connection can have a mention. A mention that they cannot have is left out.
    public static func canMention(_ mention: Message.Mention, kind: String) -> Bool {
        Self.kind(kind)?.canMention(mention) ?? true
    }

    static func connections(taking action: String) -> [String] { connections.filter { $0.actions.contains(action) }.map(\.kind) }
}
