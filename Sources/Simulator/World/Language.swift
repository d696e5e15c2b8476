/// The language in which a user sees labels. Only labels change; table names and raw values never do.
public enum Language: String, Sendable, Hashable, CaseIterable {
    case english = "en"
    case german = "de"
}
