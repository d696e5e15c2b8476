extension String {
    var nonEmpty: String? { isEmpty ? nil : self }

    func replacingSuffix(_ suffix: String, with other: String) -> String {
        hasSuffix(suffix) ? dropLast(suffix.count) + other : self
    }
}
