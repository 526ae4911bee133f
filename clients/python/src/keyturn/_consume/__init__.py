"""Work under turns: scoped turns, consumers and what their handlers say."""
